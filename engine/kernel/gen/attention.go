package main

import "fmt"

// Routines, of attention above all, over several rows at once: they replace a handful of
// calls per row by one per block of rows.

// attentionFile is the assembly of these routines for the instruction sets of a processor.
func attentionFile(sets ...isa) *text {
	t := newText(sets[0])
	consts := map[string]uint32{}
	for _, v := range sets {
		softRows(t, v, consts)
		tailRows(t, v)
		transposeTile(t, v)
		rotateHeads(t, v)
		if v == avx2 {
			rotateEights(t, consts)
		}
		for _, heads := range decodeHeadCounts {
			if v == neon {
				decodeHeadsNEON(t, heads)
			} else {
				decodeHeads(t, v, consts, heads)
			}
		}
		if v != neon {
			prefillRows(t, v, consts)
			gradRows(t, v, consts)
			gradKeys(t, v)
		}
	}
	constSection(t, consts)
	return t
}

// softRows writes the routine that takes, row by row, the maximum and then the
// exponentials of the scores: row r has n+r*causal of them.
//
//	SI row   DI maximum   R8 stride   R9 rows left   R10 elements of the row   R11 causal
//	AX, CX element, elements left
func softRows(t *text, isa isa, consts map[string]uint32) {
	e := entry{name: "vectorSoftRows", parameters: "(scores, maxima *float32, ld, m, n, causal int, scale float32)", args: 52, chosen: true}
	routineText(t, isa, e, consts, func(v *vec) {
		v.address["x"] = "AX"
		v.arguments("scores SI", "maxima DI", "ld R8", "m R9", "n R10", "causal R11")
		v.op("SHLQ", "$2", "R8")
		scale := v.broadcast("scale+48(FP)")
		v.takeMask()
		m, nan := v.maxRegisters()
		v.loop("row", "R9", func() {
			v.rowMaximum(scale, m, nan, "(DI)")
			v.overRow("exp", func() {
				x := v.load("x")
				v.mul(x, scale)
				v.sub(x, m)
				v.store(v.exps(x)[0], "x")
			})
			v.op("ADDQ", "R8", "SI")
			v.op("ADDQ", "$4", "DI")
			v.op("ADDQ", "R11", "R10")
		})
	})
}

// rowMaximum finds the maximum of the row at SI.
func (v *vec) rowMaximum(scale, m, nan, to string) {
	v.maxStart(m, nan)
	v.overRow("max", func() { v.maxStep("x", m, nan) })
	v.scaledMaximum(scale, m, nan, to)
}

// scaledMaximum ends a maximum, which it writes times the scale and leaves in every lane of m.
func (v *vec) scaledMaximum(scale, m, nan, to string) {
	v.maxEnd(m, nan)
	if v.v == neon {
		v.op("FMULS", f(scale), f(m), f(m))
	} else {
		v.op("VMULSS", half(scale), half(m), half(m))
	}
	v.storeFirst(m, to)
	v.spread(m)
}

// overRow runs a body over the R10 elements of the row at SI.
func (v *vec) overRow(name string, body func()) {
	v.op("MOVQ", "SI", "AX")
	v.op("MOVQ", "R10", "CX")
	v.overLanes(name+"_", []string{"AX"}, body)
}

// tailRows writes the routine that ends the mix of eight causal rows: row r has
// r keys more than row 0, and its chain goes on over them. Columns are taken a
// register at a time.
//
//	AX, BX, DX out, probs, values   CX columns left   R8, R9, R10 their strides
//	R13 value row
//	amd64: SI rows 4.. of out   DI of probs   R11, R12 three strides of out, probs
//	arm64: SI row of out   R19..R25 rows 1..7 of probs
func tailRows(t *text, isa isa) {
	const rows = 8
	e := entry{name: "vectorTailRows", parameters: "(out, probs, values *float32, ldo, ldp, ldv, n int)", args: 56, chosen: true}
	routineText(t, isa, e, nil, func(v *vec) {
		v.arguments("out AX", "probs BX", "values DX", "ldo R8", "ldp R9", "ldv R10", "n CX")
		for _, r := range []string{"R8", "R9", "R10"} {
			v.op("SHLQ", "$2", r)
		}
		row := make([]string, rows)
		for r := 1; r < rows; r++ {
			row[r] = v.new()
		}
		value, prob := v.new(), v.new()
		v.takeMask()
		at := tailAddresses
		if isa == neon {
			at = tailAddressesNEON
		}
		out, probAt := at(v)
		v.overLanes("", []string{"AX", "DX"}, func() {
			out(func(r int, at string) { v.move(at, row[r], true) })
			v.op("MOVQ", "DX", "R13")
			for j := range rows - 1 {
				v.move("(R13)", value, true)
				for r := j + 1; r < rows; r++ {
					if isa == neon {
						v.op("FMOVS", probAt(r, j), f(prob))
						v.word("FMLA by element", row[r], value, prob)
						continue
					}
					v.op("VBROADCASTSS", probAt(r, j), prob)
					v.fma(row[r], value, prob)
				}
				v.op("ADDQ", "R10", "R13")
			}
			out(func(r int, at string) { v.move(row[r], at, false) })
		})
	})
}

// tailAddresses prepares the addresses of tailRows: out calls f for rows 1..7 of
// out, and prob returns the address of an element of probs.
func tailAddresses(v *vec) (out func(f func(r int, at string)), prob func(r, j int) string) {
	v.op("LEAQ", "(R8)(R8*2)", "R11")
	v.op("LEAQ", "(R9)(R9*2)", "R12")
	v.op("LEAQ", "(BX)(R9*4)", "DI")
	out = func(f func(r int, at string)) {
		v.op("LEAQ", "(AX)(R8*4)", "SI")
		for r := 1; r < 8; r++ {
			f(r, "0"+rowAt([]string{"AX", "SI"}, "R8", "R11", r))
		}
	}
	return out, func(r, j int) string { return fmt.Sprint(4*j, rowAt([]string{"BX", "DI"}, "R9", "R12", r)) }
}

// tailAddressesNEON is tailAddresses for arm64, where a vector's address is one
// register.
func tailAddressesNEON(v *vec) (out func(f func(r int, at string)), prob func(r, j int) string) {
	probs := func(r int) string { return fmt.Sprintf("R%d", 18+r) }
	for r, before := 1, "BX"; r < 8; r++ {
		v.op("ADD", "R9", before, probs(r))
		before = probs(r)
	}
	out = func(f func(r int, at string)) {
		v.op("MOVQ", "AX", "SI")
		for r := 1; r < 8; r++ {
			v.op("ADDQ", "R8", "SI")
			f(r, "(SI)")
		}
	}
	return out, func(r, j int) string { return fmt.Sprintf("%d(%s)", 4*j, probs(r)) }
}

// transposeTile writes the routine that transposes a square as wide as a
// register, of whose rows the first ones may be all there are. First the four
// rows of each group are transposed within each quarter of a register, then the
// quarters change places.
//
//	AX src   BX dst   CX rows   R8, R9 strides
func transposeTile(t *text, isa isa) {
	if isa == neon {
		transposeStrip(t)
		return
	}
	n := isa.lanes()
	t.open(isa, entry{name: "transposeTile", parameters: "(dst, src *float32, ldd, lds, rows int)", args: 40})
	v := newVec(t, isa, nil)
	v.arguments("dst BX", "src AX", "ldd R8", "lds R9", "rows CX")
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
	transposeSquare(t, isa)
	column := func(c int) string { return isa.r(n + c) }
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

// transposeSquare transposes the square in the lower half of the registers, a row in each;
// column c is then in register c of the upper half.
func transposeSquare(t *text, isa isa) {
	n := isa.lanes()
	for i := 0; i < n; i += 2 {
		t.op("VUNPCKLPS", isa.r(i+1), isa.r(i), isa.r(n+i))
		t.op("VUNPCKHPS", isa.r(i+1), isa.r(i), isa.r(n+i+1))
	}
	for g := 0; g < n; g += 4 {
		for k := range 4 {
			op := []string{"VUNPCKLPD", "VUNPCKHPD"}[k%2]
			t.op(op, isa.r(n+g+2+k/2), isa.r(n+g+k/2), isa.r(g+k))
		}
	}
	// Register g+k now has, in quarter q, column 4q+k of rows g..g+3.
	column := func(c int) string { return isa.r(n + c) }
	for k := range 4 {
		if isa == avx2 {
			t.op("VPERM2F128", "$0x20", isa.r(4+k), isa.r(k), column(k))
			t.op("VPERM2F128", "$0x31", isa.r(4+k), isa.r(k), column(4+k))
			continue
		}
		for odd, pick := range []string{"$0x88", "$0xdd"} { // quarters 0 and 2, 1 and 3
			low, high := column(4*odd+k), column(8+4*odd+k)
			t.op("VSHUFF32X4", pick, isa.r(4+k), isa.r(k), low)
			t.op("VSHUFF32X4", pick, isa.r(12+k), isa.r(8+k), high)
		}
		for odd := range 2 {
			low, high := column(4*odd+k), column(8+4*odd+k)
			t.op("VSHUFF32X4", "$0x88", high, low, isa.r(k))
			t.op("VSHUFF32X4", "$0xdd", high, low, high)
			t.op("VMOVAPS", isa.r(k), low)
		}
	}
}

// transposeStrip writes the routine of arm64, whose registers are short: it goes
// through four whole rows of src, four columns at a time.
//
//	AX src   BX dst   CX columns left   R8, R9 strides   SI row
func transposeStrip(t *text) {
	t.open(neon, entry{name: "transposeStrip", parameters: "(dst, src *float32, ldd, lds, n int)", args: 40})
	t.arguments("dst BX", "src AX", "ldd R8", "lds R9", "n CX")
	t.op("SHLQ", "$2", "R8")
	t.op("SHLQ", "$2", "R9")
	t.label("square")
	t.op("MOVQ", "AX", "SI")
	for i := range 4 {
		t.op("FMOVQ", "(SI)", f(neon.r(i)))
		if i < 3 {
			t.op("ADDQ", "R9", "SI")
		}
	}
	pair := func(op, lanes string, a, b, to int) { t.op(op, neon.r(b)+lanes, neon.r(a)+lanes, neon.r(to)+lanes) }
	for k, op := range []string{"VTRN1", "VTRN2"} {
		pair(op, ".S4", 0, 1, 4+k) // columns k and k+2 of rows 0 and 1
		pair(op, ".S4", 2, 3, 6+k)
	}
	for k := range 4 {
		pair([]string{"VTRN1", "VTRN2"}[k/2], ".D2", 4+k%2, 6+k%2, k)
		t.op("FMOVQ", f(neon.r(k)), "(BX)")
		t.op("ADDQ", "R8", "BX")
	}
	t.op("ADDQ", "$16", "AX")
	t.op("SUBQ", "$4", "CX")
	t.op("JNZ", "square")
	t.end()
}

// rotateHeads writes the routine that turns the pairs of a row's heads by the same
// angles: one call where there would be one for each head.
//
//	SI head   R8 bytes of half of one   R9 heads left   R10 pairs of one   R11, R12 cosines, sines
//	AX, BX, DX, DI, CX the halves, cosines, sines, pairs left
func rotateHeads(t *text, isa isa) {
	e := entry{name: "rotateHeads", parameters: "(x, cos, sin *float32, heads, half int, flip uint32)", args: 44}
	routineText(t, isa, e, nil, func(v *vec) {
		v.address = map[string]string{"x1": "AX", "x2": "BX", "cos": "DX", "sin": "DI"}
		v.arguments("x SI", "cos R11", "sin R12", "heads R9", "half R10")
		v.op("MOVQ", "half+32(FP)", "R8")
		v.op("SHLQ", "$2", "R8")
		v.numbers["flip"] = v.broadcast("flip+40(FP)")
		v.takeMask()
		v.loop("head", "R9", func() {
			for i, from := range []string{"SI", "SI", "R11", "R12", "R10"} {
				v.op("MOVQ", from, []string{"AX", "BX", "DX", "DI", "CX"}[i])
			}
			v.op("ADDQ", "R8", "BX")
			v.overLanes("pair_", []string{"AX", "BX", "DX", "DI"}, func() { rotatePair(v) })
			v.op("ADDQ", "R8", "SI")
			v.op("ADDQ", "R8", "SI")
		})
	})
}

// rotateEights writes the routine that turns heads of eight, four pairs, each in a register: its
// halves change places for the products with the sines, of which the first half is negative.
//
//	SI head   AX heads left
func rotateEights(t *text, consts map[string]uint32) {
	e := entry{name: "rotateEights", parameters: "(x, cos, sin *float32, heads int, flip uint32)", args: 36}
	routineText(t, avx2, e, consts, func(v *vec) {
		v.arguments("x SI", "cos BX", "sin DX", "heads AX")
		cos, sin, negative, x, swapped := v.new(), v.new(), v.new(), v.new(), v.new()
		v.op("VBROADCASTF128", "(BX)", cos)
		v.op("VBROADCASTF128", "(DX)", sin)
		v.op("VBROADCASTSS", "flip+32(FP)", negative)
		v.xor(sin, negative)
		v.into(xorBits, negative, sin, v.bits(signMask))
		v.op("VBLENDPS", "$0x0f", negative, sin, sin)
		v.loop("head", "AX", func() {
			v.move("(SI)", x, true)
			v.op("VPERM2F128", "$1", x, x, swapped)
			v.mul(x, cos)
			v.mul(swapped, sin)
			v.add(x, swapped)
			v.move(x, "(SI)", false)
			v.op("ADDQ", "$32", "SI")
		})
	})
}

// sumExps writes the routine of the softmax of as many rows as a register has lanes, with a
// lane for each: maxima times the scale, and in-order sums of the exponentials. The number of
// columns is a multiple of four, which are taken side by side; each has sixteen rows in memory.
//
//	SI column   AX first column   CX columns left
func sumExps(t *text, isa isa, consts map[string]uint32) {
	e := entry{name: "sumExps", parameters: "(sums, maxima, columns *float32, n int, scale float32)", args: 36, chosen: true}
	routineText(t, isa, e, consts, func(v *vec) {
		v.op("MOVQ", "columns+16(FP)", "AX")
		columns := fourVectors("SI")
		over := func(name string, body func()) {
			v.op("MOVQ", "AX", "SI")
			v.op("MOVQ", "n+24(FP)", "CX")
			v.label(name)
			body()
			v.op("ADDQ", "$256", "SI")
			v.op("SUBQ", "$4", "CX")
			v.op("JNZ", name)
		}
		m := v.new()
		v.set(m, v.bits(infinityBits|signMask))
		over("max", func() {
			for _, column := range columns {
				v.op("VMAXPS", column, m, m)
			}
		})
		scale := v.broadcast("scale+32(FP)")
		v.scaleMaxima(m, scale)
		sum := v.zeroed()
		v.op("MOVQ", "maxima+8(FP)", "DX")
		v.move(m, "(DX)", false)
		over("exp", func() {
			for _, e := range v.softExps(scale, columns, []string{m}) {
				v.add(sum, e)
				v.drop(e)
			}
		})
		v.op("MOVQ", "sums+0(FP)", "DX")
		v.move(sum, "(DX)", false)
		v.drop(m, scale, sum)
	})
}
