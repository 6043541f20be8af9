package main

import "fmt"

// Routines of attention over several rows at once: they replace a handful of
// calls per row by one per block of rows.

// attentionFile is the assembly of these routines for one instruction set.
func attentionFile(v isa) string {
	t := newText(v)
	consts := map[string]uint32{}
	softRows(t, v, consts)
	tailRows(t, v)
	transposeTile(t, v)
	constSection(t, v, consts)
	return t.String()
}

// softRows writes the routine that takes, row by row, the maximum and then the
// exponentials of the scores: row r has n+r*causal of them.
//
//	SI row   DI maximum   R8 stride   R9 rows left   R10 elements of the row   R11 causal
//	AX, CX element, elements left
func softRows(t *text, isa isa, consts map[string]uint32) {
	fmt.Fprintf(t, "\n// func softRows%s(scores, maxima *float32, ld, m, n, causal int, scale float32)\nTEXT ·softRows%s(SB), NOSPLIT, $0-52\n", isa.name, isa.name)
	v := &vec{text: t, v: isa, consts: consts, address: map[string]string{"x": "AX"}, mask: "K1"}
	for i := isa.regs - 1; i >= 0; i-- {
		v.free = append(v.free, isa.r(i))
	}
	for i, name := range []string{"scores+0", "maxima+8", "ld+16", "m+24", "n+32", "causal+40"} {
		v.op("MOVQ", name+"(FP)", []string{"SI", "DI", "R8", "R9", "R10", "R11"}[i])
	}
	v.op("SHLQ", "$2", "R8")
	scale := v.new()
	v.op("VBROADCASTSS", "scale+48(FP)", scale)
	if isa == avx2 {
		v.mask = v.new()
	}
	m, nan := v.new(), v.new()
	v.label("row")
	v.op("VMOVUPS", v.bits(infinityBits|signMask), m)
	v.op(v.logic("VPXOR"), nan, nan, nan)
	v.eachVector("max", func() { v.maxStep("x", m, nan) })
	v.maxEnd(m, nan)
	v.op("VMULSS", half(scale), half(m), half(m))
	v.op("VMOVSS", half(m), "(DI)")
	v.op("VBROADCASTSS", half(m), m)
	v.eachVector("exp", func() {
		x := v.load("x")
		v.mul(x, scale)
		v.sub(x, m)
		v.store(v.exp(x), "x")
	})
	v.op("ADDQ", "R8", "SI")
	v.op("ADDQ", "$4", "DI")
	v.op("ADDQ", "R11", "R10")
	v.op("DECQ", "R9")
	v.op("JNZ", "row")
	v.end()
}

// eachVector runs a body over the row at SI, whole vectors first.
func (v *vec) eachVector(name string, body func()) {
	v.op("MOVQ", "SI", "AX")
	v.op("MOVQ", "R10", "CX")
	v.label(name + "Whole")
	v.op("CMPQ", "CX", fmt.Sprintf("$%d", v.v.lanes()))
	v.op("JLT", name+"Rest")
	body()
	v.op("ADDQ", fmt.Sprintf("$%d", v.v.bytes), "AX")
	v.op("SUBQ", fmt.Sprintf("$%d", v.v.lanes()), "CX")
	v.op("JMP", name+"Whole")
	v.label(name + "Rest")
	v.op("TESTQ", "CX", "CX")
	v.op("JEQ", name+"Done")
	v.tailMask()
	v.masked = true
	body()
	v.masked = false
	v.label(name + "Done")
}

// tailRows writes the routine that ends the mix of eight causal rows: row r has
// r keys more than row 0, and its chain goes on over them. Columns are taken a
// register at a time.
//
//	AX, BX, DX out, probs, values   SI rows 4.. of out   DI of probs   CX columns left
//	R8, R9, R10 strides of out, probs, values   R11, R12 three strides of out, probs
//	R13 value row
func tailRows(t *text, isa isa) {
	const rows = 8
	fmt.Fprintf(t, "\n// func tailRows%s(out, probs, values *float32, ldo, ldp, ldv, n int)\nTEXT ·tailRows%s(SB), NOSPLIT, $0-56\n", isa.name, isa.name)
	v := &vec{text: t, v: isa, mask: "K1", address: map[string]string{}}
	for i, name := range []string{"out+0", "probs+8", "values+16", "ldo+24", "ldp+32", "ldv+40", "n+48"} {
		v.op("MOVQ", name+"(FP)", []string{"AX", "BX", "DX", "R8", "R9", "R10", "CX"}[i])
	}
	for _, r := range []string{"R8", "R9", "R10"} {
		v.op("SHLQ", "$2", r)
	}
	v.op("LEAQ", "(R8)(R8*2)", "R11")
	v.op("LEAQ", "(R9)(R9*2)", "R12")
	v.op("LEAQ", "(BX)(R9*4)", "DI")
	if isa == avx2 {
		v.mask = isa.r(rows + 2)
	}
	at := func(low, high, stride, triple string, r, offset int) string {
		base := []string{low, high}[r/4]
		index := []string{"", "(" + stride + "*1)", "(" + stride + "*2)", "(" + triple + "*1)"}[r%4]
		return fmt.Sprintf("%d(%s)%s", offset, base, index)
	}
	body := func() {
		v.op("LEAQ", "(AX)(R8*4)", "SI")
		for r := 1; r < rows; r++ {
			v.move(at("AX", "SI", "R8", "R11", r, 0), isa.r(r), true)
		}
		v.op("MOVQ", "DX", "R13")
		for j := range rows - 1 {
			v.move("(R13)", isa.r(rows), true)
			for r := j + 1; r < rows; r++ {
				v.op("VBROADCASTSS", at("BX", "DI", "R9", "R12", r, 4*j), isa.r(rows+1))
				v.op("VFMADD231PS", isa.r(rows), isa.r(rows+1), isa.r(r))
			}
			v.op("ADDQ", "R10", "R13")
		}
		for r := 1; r < rows; r++ {
			v.move(isa.r(r), at("AX", "SI", "R8", "R11", r, 0), false)
		}
	}
	v.overLanes([]string{"AX", "DX"}, body)
	v.end()
}

// move loads or stores a vector, the tail under the mask.
func (v *vec) move(from, to string, load bool) {
	switch {
	case !v.masked:
		v.op("VMOVUPS", from, to)
	case v.v == avx512 && load:
		v.op("VMOVUPS.Z", from, v.mask, to)
	case v.v == avx512:
		v.op("VMOVUPS", from, v.mask, to)
	default:
		v.op("VMASKMOVPS", from, v.mask, to)
	}
}

// transposeTile writes the routine that transposes a square as wide as a
// register, of whose rows the first ones may be all there are. First the four
// rows of each group are transposed within each quarter of a register, then the
// quarters change places.
//
//	AX src   BX dst   CX rows   R8, R9 strides
func transposeTile(t *text, isa isa) {
	n := isa.lanes()
	fmt.Fprintf(t, "\n// func transposeTile%s(dst, src *float32, ldd, lds, rows int)\nTEXT ·transposeTile%s(SB), NOSPLIT, $0-40\n", isa.name, isa.name)
	v := &vec{text: t, v: isa, mask: "K1"}
	for i, name := range []string{"dst+0", "src+8", "ldd+16", "lds+24", "rows+32"} {
		v.op("MOVQ", name+"(FP)", []string{"BX", "AX", "R8", "R9", "CX"}[i])
	}
	v.op("SHLQ", "$2", "R8")
	v.op("SHLQ", "$2", "R9")
	for i := range n {
		v.op("VMOVUPS", "(AX)", isa.r(i))
		if i+1 < n {
			v.op("CMPQ", "CX", fmt.Sprintf("$%d", i+1))
			v.op("JEQ", "loaded")
			v.op("ADDQ", "R9", "AX")
		}
	}
	v.label("loaded")
	for i := 0; i < n; i += 2 {
		v.op("VUNPCKLPS", isa.r(i+1), isa.r(i), isa.r(n+i))
		v.op("VUNPCKHPS", isa.r(i+1), isa.r(i), isa.r(n+i+1))
	}
	for g := 0; g < n; g += 4 {
		for k := range 4 {
			op := []string{"VUNPCKLPD", "VUNPCKHPD"}[k%2]
			v.op(op, isa.r(n+g+2+k/2), isa.r(n+g+k/2), isa.r(g+k))
		}
	}
	// Register g+k now has, in quarter q, column 4q+k of rows g..g+3.
	column := func(c int) string { return isa.r(n + c) }
	for k := range 4 {
		if isa == avx2 {
			v.op("VPERM2F128", "$0x20", isa.r(4+k), isa.r(k), column(k))
			v.op("VPERM2F128", "$0x31", isa.r(4+k), isa.r(k), column(4+k))
			continue
		}
		for odd, pick := range []string{"$0x88", "$0xdd"} { // quarters 0 and 2, 1 and 3
			low, high := column(4*odd+k), column(8+4*odd+k)
			v.op("VSHUFF32X4", pick, isa.r(4+k), isa.r(k), low)
			v.op("VSHUFF32X4", pick, isa.r(12+k), isa.r(8+k), high)
		}
		for odd := range 2 {
			low, high := column(4*odd+k), column(8+4*odd+k)
			v.op("VSHUFF32X4", "$0x88", high, low, isa.r(k))
			v.op("VSHUFF32X4", "$0xdd", high, low, high)
			v.op("VMOVAPS", isa.r(k), low)
		}
	}
	if isa == avx2 {
		v.mask = isa.r(0)
	}
	v.tailMask()
	v.masked = true
	for i := range n {
		v.move(column(i), "(BX)", false)
		if i+1 < n {
			v.op("ADDQ", "R8", "BX")
		}
	}
	v.end()
}

// attentionStubs declares the routines and chooses by path.
func attentionStubs() string {
	return `// Code generated by gen; DO NOT EDIT.

//go:build !purego

package kernel

//go:noescape
func softRows512(scores, maxima *float32, ld, m, n, causal int, scale float32)

//go:noescape
func softRows256(scores, maxima *float32, ld, m, n, causal int, scale float32)

//go:noescape
func tailRows512(out, probs, values *float32, ldo, ldp, ldv, n int)

//go:noescape
func tailRows256(out, probs, values *float32, ldo, ldp, ldv, n int)

//go:noescape
func transposeTile512(dst, src *float32, ldd, lds, rows int)

//go:noescape
func transposeTile256(dst, src *float32, ldd, lds, rows int)
`
}
