package main

import "fmt"

// The arithmetic of vec, spelt for every instruction set.

// operation is one on two vectors, in the words of amd64 and arm64; lanes is what
// Go's assembler for arm64 adds to the registers, if it has the instruction.
type operation struct{ amd64, arm64, lanes string }

const bitLanes, integerLanes = ".B16", ".S4"

var (
	multiplication = operation{"VMULPS", "FMUL", ""}
	addition       = operation{"VADDPS", "FADD", ""}
	subtraction    = operation{"VSUBPS", "FSUB", ""}
	division       = operation{"VDIVPS", "FDIV", ""}
	andBits        = operation{"VPAND", "VAND", bitLanes}
	orBits         = operation{"VPOR", "VORR", bitLanes}
	xorBits        = operation{"VPXOR", "VEOR", bitLanes}
	addIntegers    = operation{"VPADDD", "VADD", integerLanes}
	subIntegers    = operation{"VPSUBD", "VSUB", integerLanes}
)

// into writes dst = a op b; on amd64 b may be memory.
func (v *vec) into(o operation, dst, a, b string) string {
	switch {
	case v.v == neon && o.lanes == "":
		v.word(o.arm64, dst, a, b)
	case v.v == neon:
		v.op(o.arm64, b+o.lanes, a+o.lanes, dst+o.lanes)
	case v.v == avx512:
		name := o.amd64
		if o.lanes == bitLanes { // names the lane
			name += "D"
		}
		v.op(name, b, a, dst)
	default:
		v.op(o.amd64, b, a, dst)
	}
	return dst
}

// The operations overwrite and return their first operand.
func (v *vec) mul(a, b string) string  { return v.into(multiplication, a, a, b) }
func (v *vec) add(a, b string) string  { return v.into(addition, a, a, b) }
func (v *vec) sub(a, b string) string  { return v.into(subtraction, a, a, b) }
func (v *vec) div(a, b string) string  { return v.into(division, a, a, b) }
func (v *vec) or(a, b string) string   { return v.into(orBits, a, a, b) }
func (v *vec) xor(a, b string) string  { return v.into(xorBits, a, a, b) }
func (v *vec) addI(a, b string) string { return v.into(addIntegers, a, a, b) }
func (v *vec) subI(a, b string) string { return v.into(subIntegers, a, a, b) }

// squareRoot replaces a by its root.
func (v *vec) squareRoot(a string) {
	if v.v == neon {
		v.word("FSQRT", a, a)
	} else {
		v.op("VSQRTPS", a, a)
	}
}

// prefetch asks for what comes eight kilobytes later in a slice that is not in a near cache.
func (v *vec) prefetch(slice string) {
	if v.v != neon && !v.masked {
		v.op("PREFETCHT0", "8192("+v.address[slice]+")")
	}
}

// fma adds a·b to acc with one rounding.
func (v *vec) fma(acc, a, b string) {
	if v.v == neon {
		v.op("VFMLA", a+".S4", b+".S4", acc+".S4")
	} else {
		v.op("VFMADD231PS", a, b, acc)
	}
}

// halved returns the integers of a shifted to the right by one, with their sign.
func (v *vec) halved(a string) string {
	r := v.new()
	if v.v == neon {
		v.raw(encodeShift(1, number(r), number(a)))
	} else {
		v.op("VPSRAD", "$1", a, r)
	}
	return r
}

// shiftLeft shifts the integers in a by a constant.
func (v *vec) shiftLeft(n int, a string) {
	if v.v == neon {
		v.op("VSHL", fmt.Sprintf("$%d", n), a+".S4", a+".S4")
	} else {
		v.op("VPSLLD", fmt.Sprintf("$%d", n), a, a)
	}
}

// shiftedRight writes the bits of a shifted to the right by a constant to dst.
func (v *vec) shiftedRight(n int, a, dst string) {
	if v.v == neon {
		v.op("VUSHR", fmt.Sprintf("$%d", n), a+".S4", dst+".S4")
	} else {
		v.op("VPSRLD", fmt.Sprintf("$%d", n), a, dst)
	}
}

// toIntegers converts whole numbers; what it makes of a NaN differs.
func (v *vec) toIntegers(a string) {
	if v.v == neon {
		v.word("FCVTNS", a, a)
	} else {
		v.op("VCVTPS2DQ", a, a)
	}
}

// copy returns a copy of a register or of a constant.
func (v *vec) copy(a string) string {
	r := v.new()
	v.set(r, a)
	return r
}

// set writes a register or a constant to r.
func (v *vec) set(r, a string) {
	if v.v == neon {
		v.op("VMOV", a+".B16", r+".B16")
	} else {
		v.op("VMOVUPS", a, r)
	}
}

// clampNaN returns min(max(x, lo), hi) where a NaN in x stays a NaN: so it is on
// arm64, and on amd64 the instructions return their second source if either is one.
func (v *vec) clampNaN(x, lo, hi string) string {
	if v.v == neon {
		v.word("FMIN", x, x, hi)
		v.word("FMAX", x, x, lo)
		return x
	}
	v.boundNaN("VMINPS", x, hi)
	v.atLeast(x, lo)
	return x
}

// atLeast returns max(x, bound) where a NaN in x stays a NaN.
func (v *vec) atLeast(x, bound string) {
	if v.v == neon {
		v.word("FMAX", x, x, bound)
	} else {
		v.boundNaN("VMAXPS", x, bound)
	}
}

// boundNaN is one side of clampNaN on amd64. AVX2's constants are in memory, which is no first
// source.
func (v *vec) boundNaN(name, x, bound string) {
	if v.v == avx2 {
		bound = v.copy(bound)
		defer v.drop(bound)
	}
	v.op(name, x, bound, x)
}
