package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// exps is Exp32 of several registers side by side, which hides the latency of its chain of
// operations.
func (v *vec) exps(xs ...string) []string {
	for _, x := range xs {
		v.clampNaN(x, v.c(-104), v.c(89))
	}
	return v.expsWithin(xs...)
}

// expsWithin is exps of numbers between -104 and 89, or NaN.
func (v *vec) expsWithin(xs ...string) []string {
	each := func(f func(i int)) {
		for i := range xs {
			f(i)
		}
	}
	n, t, p := make([]string, len(xs)), make([]string, len(xs)), make([]string, len(xs))
	each(func(i int) { n[i] = v.into(multiplication, v.new(), xs[i], v.c(1.44269504088896341)) })
	if v.v == avx512 { // to the nearest whole number, halves to the even one, as those sums round
		each(func(i int) { v.op("VRNDSCALEPS", "$0", n[i], n[i]) })
	} else {
		each(func(i int) { v.add(n[i], v.c(1.5*(1<<23))) })
		each(func(i int) { v.sub(n[i], v.c(1.5*(1<<23))) })
	}
	each(func(i int) { t[i] = v.into(multiplication, v.new(), n[i], v.c(0.693359375)) })
	each(func(i int) { v.sub(xs[i], t[i]) })
	each(func(i int) { v.into(multiplication, t[i], n[i], v.c(-2.12194440e-4)) })
	each(func(i int) { v.sub(xs[i], t[i]) })
	each(func(i int) { v.drop(t[i]) })
	each(func(i int) { p[i] = v.into(multiplication, v.new(), xs[i], v.c(1.9875691500e-4)) })
	each(func(i int) { v.add(p[i], v.c(1.3981999507e-3)) })
	for _, c := range []float32{8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1} {
		each(func(i int) { v.mul(p[i], xs[i]) })
		each(func(i int) { v.add(p[i], v.c(c)) })
	}
	each(func(i int) { v.mul(p[i], xs[i]) })
	each(func(i int) { v.mul(p[i], xs[i]) })
	each(func(i int) { v.add(p[i], xs[i]) })
	each(func(i int) { v.add(p[i], v.c(1)) })
	each(func(i int) { v.drop(xs[i]) })
	if v.v == avx512 { // p·2^n with one rounding, which the two products below have as well
		each(func(i int) { v.op("VSCALEFPS", n[i], p[i], p[i]) })
		v.drop(n...)
		return p
	}
	each(func(i int) {
		v.unary("VCVTPS2DQ", "FCVTNS", n[i]) // what they make of a NaN differs
		h := v.halved(n[i])
		v.subI(n[i], h)
		for _, e := range []string{h, n[i]} {
			v.addI(e, v.bits(127))
			v.shift("VPSLLD", "VSHL", 23, e, e)
			v.mul(p[i], e)
		}
		v.drop(n[i], h)
	})
	return p
}

// softExps returns the exponentials of float32(score·scale)-maximum for as many vectors in
// memory, each with the maximum of its lanes or one for all: none is above zero, or NaN.
func (v *vec) softExps(scale string, scores, maxima []string) []string {
	xs := make([]string, len(scores))
	for i, score := range scores {
		xs[i] = v.new()
		v.move(score, xs[i], true)
		v.mul(xs[i], scale)
		v.sub(xs[i], maxima[i%len(maxima)])
	}
	for _, x := range xs {
		v.atLeast(x, v.c(-104))
	}
	return v.expsWithin(xs...)
}

// expFile is the assembly of package elementary for amd64: its Exp of several float32 side by side, in float64.
func expFile() *text {
	t, consts := newText(avx512), map[uint64]bool{}
	for _, isa := range []isa{avx512, avx2} {
		exps64(t, isa, consts)
	}
	for _, c := range slices.Sorted(maps.Keys(consts)) {
		name := constant64(c)
		t.WriteString("\n")
		for off := 0; off < avx2.bytes; off += 8 {
			fmt.Fprintf(t, "DATA %s+%d(SB)/8, $0x%016x\n", name, off, c)
		}
		fmt.Fprintf(t, "GLOBL %s(SB), RODATA|NOPTR, $%d\n", name, avx2.bytes)
	}
	return t
}

// constant64 names a constant of 64 bits in memory.
func constant64(bits uint64) string { return fmt.Sprintf("c_%016x<>", bits) }

// exps64 writes the routine that takes the exponentials of as many numbers as fill registers of float64, until
// fewer numbers are left or one's exponential would not be normal. Operation by operation it is exp
// of package elementary.
//
//	SI src   DI dst   CX left   AX taken   DX the table
func exps64(t *text, isa isa, consts map[uint64]bool) {
	t.open(isa, entry{name: "exps", parameters: "(dst *float64, src *float32, n int) (done int)", args: 32})
	next := 0
	register := func() string { next++; return isa.r(next - 1) }
	x, size, k, n, q, high, low := register(), register(), register(), register(), register(), register(), register()
	constant := func(bits uint64) string {
		consts[bits] = true
		c := constant64(bits) + "(SB)"
		if isa == avx2 {
			return c
		}
		r := register()
		t.op("VBROADCASTSD", c, r)
		return r
	}
	number := func(f float64) string { return constant(math.Float64bits(f)) }
	t.arguments("dst DI", "src SI", "n CX")
	t.op("LEAQ", "·exp2Table(SB)", "DX")
	t.op("XORL", "AX", "AX")
	const wholeNumber = 0x1.8p52
	var (
		magnitude, most           = constant(1<<63 - 1), number(707)
		perOne, whole             = number(128 * math.Log2E), number(wholeNumber)
		stepHigh, stepLow         = number(0x1.62e42fefp-8), number(0x1.473de6af278edp-41)
		fifth, fourth, third, two = number(1. / 120), number(1. / 24), number(1. / 6), number(1. / 2)
		entry, one                = constant(127), constant(1023 << 52)
	)
	width := isa.bytes / 8
	t.label("vector")
	t.op("SUBQ", fmt.Sprintf("$%d", width), "CX")
	t.op("JLT", "done")
	t.op("VCVTPS2PD", "(SI)(AX*4)", x)
	t.op("VANDPD", magnitude, x, size)
	if isa == avx512 {
		t.op("VCMPPD", "$2", most, size, "K1") // at most
		t.op("KMOVB", "K1", "R8")
		t.op("CMPL", "R8", "$0xff")
	} else {
		t.op("VCMPPD", "$2", most, size, size)
		t.op("VMOVMSKPD", size, "R8")
		t.op("CMPL", "R8", "$0xf")
	}
	t.op("JNE", "done")
	t.op("VMULPD", perOne, x, n)
	t.op("VADDPD", whole, n, k)
	t.op("VSUBPD", whole, k, n)
	for _, step := range []string{stepHigh, stepLow} {
		t.op("VMULPD", step, n, q)
		t.op("VSUBPD", q, x, x)
	}
	// The whole number's bits, those of its entry and of its power of two.
	t.op("VPSUBQ", whole, k, k)
	and := "VPAND"
	if isa == avx512 {
		and = "VPANDQ"
	}
	t.op(and, entry, k, size)
	t.op("VPSUBQ", size, k, k)
	t.op("VPSLLQ", "$45", k, k)
	t.op("VPADDQ", one, k, k)
	t.op("VPADDQ", size, size, size)
	for i, half := range []string{high, low} {
		at := fmt.Sprintf("%s(DX)(%s*8)", offset(8*i), size)
		if isa == avx512 {
			t.op("KXNORW", "K1", "K1", "K1")
			t.op("VGATHERQPD", at, "K1", half)
		} else {
			t.op("VPCMPEQD", n, n, n)
			t.op("VGATHERQPD", n, at, half)
		}
	}
	t.op("VMULPD", fifth, x, q)
	t.op("VADDPD", fourth, q, q)
	for _, c := range []string{third, two} {
		t.op("VMULPD", q, x, q)
		t.op("VADDPD", c, q, q)
	}
	t.op("VMULPD", x, x, n)
	t.op("VMULPD", q, n, q)
	t.op("VADDPD", x, q, q)
	t.op("VMULPD", high, q, q)
	t.op("VADDPD", low, q, q)
	t.op("VADDPD", high, q, q)
	t.op("VMULPD", k, q, q)
	t.op("VMOVUPD", q, "(DI)(AX*8)")
	t.op("ADDQ", fmt.Sprintf("$%d", width), "AX")
	t.op("JMP", "vector")
	t.label("done")
	t.op("MOVQ", "AX", "done+24(FP)")
	t.end()
}
