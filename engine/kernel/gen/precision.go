package main

// The loops of package precision for arm64. Those of amd64 are written by hand
// next to them; here most instructions are words, too tedious to
// write by hand. Each routine spells the steps of its twin there, in round.go or
// quantize.go.
//
// General registers:
//
//	DI dst   SI src   CX elements left   R8 the Rounder
//	R9 scale of the run   R11 elements of a run   DX runs left   BX whether to restore

func roundFile() *text {
	t := newText(neon)
	for _, r := range roundings {
		r.assemble(t)
	}
	return t
}

// rounding is one kind of a Rounder: constants takes registers for what body reads.
type rounding struct {
	name string
	body func(v *vec) func(x string) string
}

var roundings = []rounding{
	{"roundWideInfinite", func(v *vec) func(string) string {
		drop := v.dropper()
		return func(x string) string { return v.keepNaN(drop(x), x) }
	}},
	{"roundWide", func(v *vec) func(string) string {
		drop, outside := v.dropper(), v.outside()
		return func(x string) string { return outside(drop(x), x) }
	}},
	{"roundNarrow", func(v *vec) func(string) string {
		step, outside := v.narrower(), v.outside()
		return func(x string) string {
			a := v.into(andBits, v.new(), x, v.bits(magnitudeMask))
			return outside(step(a), x)
		}
	}},
	{"roundWhole", func(v *vec) func(string) string {
		round := v.wholeNumbers()
		return func(x string) string { return v.keepNaN(round(v.copy(x)), x) }
	}},
}

const magnitudeMask = ^uint32(signMask)

func (r rounding) assemble(t *text) {
	routineText(t, neon, entry{chosen: true, name: r.name + "Vector", parameters: "(dst, src *float32, n int, r *Rounder)", args: 32}, nil, func(v *vec) {
		v.arguments("dst DI", "src SI", "n CX", "r R8")
		v.address = map[string]string{"dst": "DI", "src": "SI"}
		body := r.body(v)
		v.overLanes("", []string{"DI", "SI"}, func() {
			x := v.load("src")
			v.store(body(x), "dst")
			v.drop(x)
		})
	})
}

// field returns a register filled with a field of the Rounder.
func (v *vec) field(name string) string { return v.broadcast("Rounder_" + name + "(R8)") }

// dropper adds just under half of the dropped range, and one more where the kept
// part is odd.
func (v *vec) dropper() func(x string) string {
	half, keep, last := v.field("half"), v.field("keep"), v.new()
	v.op("MOVWU", "Rounder_half(R8)", "R10")
	v.op("ADD", "$1", "R10")
	v.op("LSL", "$1", "R10")
	v.op("VDUP", "R10", last+".S4")
	return func(x string) string {
		odd := v.new()
		v.op("VCMTST", last+".S4", x+".S4", odd+".S4") // -1 or 0
		y := v.into(addIntegers, v.new(), x, half)
		v.subI(y, odd)
		v.drop(odd)
		return v.into(andBits, y, y, keep)
	}
}

// narrower adds to magnitudes, and takes away, the power of two that leaves the
// bits to be kept.
func (v *vec) narrower() func(a string) string {
	normal, lift := v.field("normal"), v.field("lift")
	return func(a string) string {
		power := v.into(andBits, v.new(), a, v.bits(infinityBits))
		v.op("VUMAX", normal+".S4", power+".S4", power+".S4")
		v.addI(power, lift)
		v.add(a, power)
		v.sub(a, power)
		v.drop(power)
		return a
	}
}

// wholeNumbers rounds to whole numbers no larger than top.
func (v *vec) wholeNumbers() func(x string) string {
	top := v.field("top")
	bottom := v.into(xorBits, v.new(), top, v.bits(signMask))
	return func(x string) string {
		v.word("FMIN", x, x, top)
		v.word("FMAX", x, x, bottom)
		v.add(x, v.c(1.5*(1<<23)))
		return v.sub(x, v.c(1.5*(1<<23)))
	}
}

// outside replaces results where the magnitude is above the last that fits, sets
// the sign, and puts NaNs back.
func (v *vec) outside() func(y, x string) string {
	last, over := v.field("last"), v.field("over")
	return func(y, x string) string {
		beyond := v.into(andBits, v.new(), x, v.bits(magnitudeMask))
		v.word("CMHI", beyond, beyond, last)
		v.op("VBIT", beyond+".B16", over+".B16", y+".B16")
		v.drop(beyond)
		return v.keepNaN(v.takeSign(y, x), x)
	}
}

func (v *vec) takeSign(y, x string) string {
	v.op("VBIT", v.bits(signMask)+".B16", x+".B16", y+".B16")
	return y
}

func (v *vec) keepNaN(y, x string) string {
	number := v.new()
	v.word("FCMEQ", number, x, x)
	v.op("VBIF", number+".B16", x+".B16", y+".B16")
	v.drop(number)
	return y
}

func quantizeFile() *text {
	t := newText(neon)
	magnitudes(t)
	divide(t, "divideNarrow", func(v *vec) func(string) string {
		top, step := v.field("top"), v.narrower()
		return func(x string) string {
			a := v.into(andBits, v.new(), x, v.bits(magnitudeMask))
			v.op("VUMIN", top+".S4", a+".S4", a+".S4")
			y := v.takeSign(step(a), x)
			v.drop(x)
			return y
		}
	})
	divide(t, "divideWhole", func(v *vec) func(string) string { return v.wholeNumbers() })
	routineText(t, neon, entry{chosen: true, name: "multiplyVector", parameters: "(dst, src *float32, n, runs int, scales *float32)", args: 40}, nil, func(v *vec) {
		v.arguments("dst DI", "src SI", "n R11", "runs DX", "scales R9")
		v.address = map[string]string{"dst": "DI", "src": "SI"}
		scale := v.new()
		v.overRuns(func() {
			v.op("VLD1R", "(R9)", "["+scale+".S4]")
			v.op("MOVQ", "R11", "CX")
			v.overLanes("", []string{"DI", "SI"}, func() { v.store(v.mul(v.load("src"), scale), "dst") })
		})
	})
	return t
}

// overRuns writes a loop over runs, each with a number at R9.
func (v *vec) overRuns(body func()) {
	v.loop("run", "DX", func() {
		body()
		v.op("ADDQ", "$4", "R9")
	})
}

// divide writes a routine that divides runs by their scales, rounds and, if it is
// to restore, multiplies by the scales again, else by 1.
func divide(t *text, name string, rounder func(v *vec) func(string) string) {
	e := entry{chosen: true, name: name + "Vector", parameters: "(dst, src *float32, n, runs int, scales *float32, r *Rounder, restore bool)", args: 49}
	routineText(t, neon, e, nil, func(v *vec) {
		v.arguments("dst DI", "src SI", "n R11", "runs DX", "scales R9", "r R8")
		v.op("MOVBU", "restore+48(FP)", "BX")
		v.address = map[string]string{"dst": "DI", "src": "SI"}
		scale, back, round := v.new(), v.copy(v.c(1)), rounder(v)
		v.overRuns(func() {
			v.op("VLD1R", "(R9)", "["+scale+".S4]")
			v.op("CBZ", "BX", "begin")
			v.set(back, scale)
			v.label("begin")
			v.op("MOVQ", "R11", "CX")
			v.overLanes("", []string{"DI", "SI"}, func() {
				v.store(v.mul(round(v.div(v.load("src"), scale)), back), "dst")
			})
		})
	})
}

// magnitudes writes the routine that finds the largest magnitude of each run:
// patterns of magnitudes are ordered as these are.
func magnitudes(t *text) {
	routineText(t, neon, entry{chosen: true, name: "magnitudesVector", parameters: "(amax, src *float32, n, runs int)", args: 32}, nil, func(v *vec) {
		v.arguments("amax R9", "src SI", "n R11", "runs DX")
		v.address = map[string]string{"src": "SI"}
		m := v.new()
		v.overRuns(func() {
			v.into(xorBits, m, m, m)
			v.op("MOVQ", "R11", "CX")
			v.overLanes("", []string{"SI"}, func() {
				x := v.load("src")
				v.into(andBits, x, x, v.bits(magnitudeMask))
				v.op("VUMAX", x+".S4", m+".S4", m+".S4")
				v.drop(x)
			})
			v.word("UMAXV", m, m)
			v.storeFirst(m, "(R9)")
		})
	})
}
