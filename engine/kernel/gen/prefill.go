package main

import "fmt"

// prefillRows writes the routine that attends as many consecutive queries of one head as a
// register has lanes, or fewer, with a lane for each: scores, their exponentials, their sum
// and the mix divided by it. What one query adds up in order of the keys is then a lane of a
// register too. The width of a head is a multiple of eight, and what has a lane for each
// query has sixteen of them in memory. Exponentials may be rounded to bf16 before they weigh
// the values; their sum is of those that are not.
//
//	SI scores   DX keys of a panel   BX queries   CX panels left   R9 rows   R10 keys of the
//	first row   R11 from panel to panel   R12 headDim   R13 key at a column   R14 columns left
//	R15 queries at a column
func prefillRows(t *text, isa isa, consts map[string]uint32) {
	name := "prefillRows" + isa.name
	routineText(t, isa, name, name+"(call *prefillCall)", 8, consts, func(v *vec) {
		v.op("MOVQ", "call+0(FP)", "CX")
		for _, r := range [][2]string{{"rows", "R9"}, {"n", "R10"}, {"headDim", "R12"}} {
			v.op("MOVQ", "prefillCall_"+r[0]+"(CX)", r[1])
		}
		v.scoreQueries()
		v.softQueries()
		newVec(v.text, isa, nil).mixQueries() // registers of constants are free by then
	})
}

// fmaSpread adds a·x to acc, where a is one float32 in memory.
func (v *vec) fmaSpread(acc, a, x string) {
	if v.v == avx512 {
		v.op("VFMADD231PS.BCST", a, x, acc)
		return
	}
	r := v.broadcast(a)
	v.fma(acc, r, x)
	v.drop(r)
}

// zeros takes the first n registers and sets them to zero.
func (v *vec) zeros(n int) []string {
	sums := make([]string, n)
	for i := range sums {
		r := v.take(i)
		sums[i] = v.into(xorBits, r, r, r)
	}
	return sums
}

// scoreQueries multiplies the queries by the keys of a panel, as many at a time as a register
// has lanes.
func (v *vec) scoreQueries() {
	for _, r := range [][2]string{{"scores", "SI"}, {"keys", "DX"}, {"queries", "BX"}} {
		v.op("MOVQ", "prefillCall_"+r[0]+"(CX)", r[1])
	}
	v.op("MOVQ", "prefillCall_panelStride(CX)", "R11")
	v.op("LEAQ", "14(R10)(R9*1)", "CX")
	v.op("SHRQ", "$4", "CX")
	v.label("panel")
	for first := 0; first < 16; first += v.v.lanes() {
		column := fmt.Sprintf("column%d", first)
		scores, x := v.zeros(v.v.lanes()), v.new()
		v.op("MOVQ", "DX", "R13")
		v.op("MOVQ", "BX", "R15")
		v.op("MOVQ", "R12", "R14")
		v.label(column)
		v.move("(R15)", x, true)
		for key, score := range scores {
			v.fmaSpread(score, fmt.Sprintf("%d(R13)", 4*(first+key)), x)
		}
		v.op("ADDQ", "$64", "R15")
		v.op("ADDQ", "$64", "R13")
		v.op("DECQ", "R14")
		v.op("JNZ", column)
		for key, score := range scores {
			v.move(score, fmt.Sprintf("%d(SI)", 64*(first+key)), false)
		}
		v.drop(x)
		v.drop(scores...)
	}
	v.op("ADDQ", "$1024", "SI")
	v.op("ADDQ", "R11", "DX")
	v.op("DECQ", "CX")
	v.op("JNZ", "panel")
}

// overKeys runs a body for the scores of each key at SI: of those that all queries see, and
// then, under a mask, of those that only the later ones do. AVX-512's mask has the lanes that
// do, AVX2's those that do not.
func (v *vec) overKeys(name string, body func(mask string)) {
	v.op("MOVQ", "R10", "CX")
	v.label(name)
	body("")
	v.op("ADDQ", "$64", "SI")
	v.op("DECQ", "CX")
	v.op("JNZ", name)
	v.op("MOVQ", "R9", "CX")
	v.op("DECQ", "CX")
	v.op("JEQ", name+"_done")
	mask := "K1"
	if v.v == avx512 {
		v.op("MOVL", "$0xfffe", "AX")
		v.op("KMOVW", "AX", mask)
	} else {
		mask = v.new()
		v.op("LEAQ", "·masks256+60(SB)", "AX")
	}
	v.label(name + "_later")
	if v.v == avx2 {
		v.op("VMOVUPS", "(AX)", mask)
	}
	body(mask)
	if v.v == avx512 {
		v.op("KSHIFTLW", "$1", mask, mask)
	} else {
		v.op("SUBQ", "$4", "AX")
	}
	v.op("ADDQ", "$64", "SI")
	v.op("DECQ", "CX")
	v.op("JNZ", name+"_later")
	v.drop(mask)
	v.label(name + "_done")
}

// under writes an operation of a, a register or memory, on b, in the lanes of the mask.
func (v *vec) under(mask, name, a, b string) {
	switch {
	case mask == "":
		v.op(name, a, b, b)
	case v.v == avx512:
		v.op(name, a, b, mask, b)
	default:
		r := v.new()
		v.op(name, a, b, r)
		v.op("VBLENDVPS", mask, b, r, b)
		v.drop(r)
	}
}

// fmaSpreadUnder is fmaSpread in the lanes of the mask.
func (v *vec) fmaSpreadUnder(mask, acc, a, x string) {
	switch {
	case mask == "":
		v.fmaSpread(acc, a, x)
	case v.v == avx512:
		v.op("VFMADD231PS.BCST", a, x, mask, acc)
	default:
		r := v.copy(acc)
		v.fmaSpread(r, a, x)
		v.op("VBLENDVPS", mask, acc, r, acc)
		v.drop(r)
	}
}

// keepUnder sets the lanes of r outside the mask to zero.
func (v *vec) keepUnder(mask, r string) {
	switch {
	case mask == "":
	case v.v == avx512:
		v.op("VMOVUPS.Z", r, mask, r)
	default:
		v.op("VANDNPS", r, mask, r)
	}
}

// softQueries finds the maxima and replaces the scores by exponentials, of four keys side by
// side: the keys are rounded up to whole panels, and a query's later ones count for nothing.
func (v *vec) softQueries() {
	v.op("MOVQ", "call+0(FP)", "DX")
	v.op("MOVQ", "prefillCall_scores(DX)", "SI")
	m := v.new()
	v.set(m, v.bits(infinityBits|signMask))
	v.overKeys("max", func(mask string) { v.under(mask, "VMAXPS", "(SI)", m) })
	scale := v.broadcast("prefillCall_scale(DX)")
	v.scaleMaxima(m, scale)
	for _, r := range [][2]string{{"maxima", "AX"}, {"scores", "SI"}} {
		v.op("MOVQ", "prefillCall_"+r[0]+"(DX)", r[1])
	}
	v.move(m, "(AX)", false)
	v.op("LEAQ", "-1(R10)(R9*1)", "CX")
	v.op("MOVQ", "prefillCall_unrounded(DX)", "DI")
	v.op("ADDQ", "SI", "DI")
	v.label("exp")
	p := v.softExps(scale, fourVectors("SI"), []string{m})
	v.storeProbs(p, fourVectors("SI"), fourVectors("DI"), "kept")
	v.op("ADDQ", "$256", "DI")
	v.op("ADDQ", "$256", "SI")
	v.op("SUBQ", "$4", "CX")
	v.op("JGT", "exp")
	v.drop(p...)
	v.drop(m, scale)
}

// storeProbs writes probabilities where they are wanted unrounded, at DI, and, unless that is
// the same place, rounded to bf16 where they are to weigh the values, at SI.
func (v *vec) storeProbs(p, rounded, unrounded []string, kept string) {
	for i, x := range p {
		v.move(x, unrounded[i], false)
	}
	v.op("CMPQ", "SI", "DI")
	v.op("JEQ", kept)
	for i, x := range p {
		v.roundBF16(x)
		v.move(x, rounded[i], false)
	}
	v.label(kept)
}

// roundBF16 rounds finite numbers to bfloat16, halves to the even one.
func (v *vec) roundBF16(x string) {
	odd := v.new()
	v.shiftedRight(16, x, odd)
	v.into(andBits, odd, odd, v.bits(1))
	v.addI(x, v.bits(0x7fff))
	v.addI(x, odd)
	v.into(andBits, x, x, v.bits(0xffff0000))
	v.drop(odd)
}

// fourVectors are the addresses of vectors that have sixteen lanes in memory.
func fourVectors(base string) []string {
	all := make([]string, 4)
	for i := range all {
		all[i] = fmt.Sprintf("%d(%s)", 64*i, base)
	}
	return all
}

// scaleMaxima multiplies the maximum of each lane, a zero as +0.
func (v *vec) scaleMaxima(m, scale string) {
	zero := v.new()
	v.into(xorBits, zero, zero, zero)
	v.add(m, zero)
	v.drop(zero)
	v.mul(m, scale)
}

// mixQueries adds up the exponentials and the values that they weigh, and divides.
func (v *vec) mixQueries() {
	v.op("MOVQ", "call+0(FP)", "CX")
	v.op("MOVQ", "prefillCall_valueStride(CX)", "R8")
	v.overColumns("prefillCall", "scores", "values", "out", func(name string, mix []string, add func(mask, weights string)) {
		p, sum := v.new(), v.new()
		v.into(xorBits, sum, sum, sum)
		v.op("MOVQ", "prefillCall_unrounded(BX)", "R14")
		v.overKeys(name, func(mask string) {
			v.move("(SI)", p, true)
			v.under(mask, "VADDPS", "(SI)(R14*1)", sum)
			add(mask, p)
		})
		v.op("MOVQ", "prefillCall_sums(BX)", "SI")
		v.move(sum, "(SI)", false)
		for _, x := range mix {
			v.div(x, sum)
		}
		v.drop(p, sum)
	})
}

// overColumns writes to the rows of out what a body adds up for a few columns, each a
// register with a lane for each query: weights, at SI, times the rows of values, R8 apart.
// The body has the call in BX.
//
//	DX values at these columns   R13 out   R11 columns left   DI value at a key
func (v *vec) overColumns(call, weights, values, out string, body func(name string, sums []string, add func(mask, weights string))) {
	v.op("MOVQ", "call+0(FP)", "BX")
	for _, r := range [][2]string{{values, "DX"}, {out, "R13"}, {"headDim", "R11"}} {
		v.op("MOVQ", call+"_"+r[0]+"(BX)", r[1])
	}
	columns := func(name string, n int) {
		v.op("MOVQ", call+"_"+weights+"(BX)", "SI")
		v.op("MOVQ", "DX", "DI")
		sums := v.zeros(n)
		body(name, sums, func(mask, weights string) {
			for column, sum := range sums {
				v.fmaSpreadUnder(mask, sum, fmt.Sprintf("%d(DI)", 4*column), weights)
			}
			v.op("ADDQ", "R8", "DI")
		})
		v.drop(sums...)
		v.op("MOVQ", call+"_stride(BX)", "R14")
		v.storeRows(name, n)
	}
	v.label("columns")
	v.overColumnGroups("R11", func() { columns("mix", v.v.lanes()) }, func() { columns("mix8", 8) })
}

// overColumnGroups runs one body for as many columns as a register has lanes, as long as there
// are so many left, and where these are sixteen another one for the last eight. It begins at the
// label columns.
func (v *vec) overColumnGroups(left string, whole, eight func()) {
	lanes := fmt.Sprintf("$%d", v.v.lanes())
	v.op("SUBQ", lanes, left)
	v.op("JLT", "fewer")
	whole()
	v.op("JMP", "columns")
	v.label("fewer")
	if v.v == avx512 {
		v.op("ADDQ", lanes, left)
		v.op("JEQ", "done")
		eight()
		v.label("done")
	}
}

// storeRows transposes the sums of n columns and writes the R9 rows of them, R14 apart, from R13 on;
// DX and R13 move on.
func (v *vec) storeRows(name string, n int) {
	v.op("MOVQ", "R13", "DI")
	v.op("MOVQ", "R9", "CX")
	transposeSquare(v.text, v.v)
	lanes := v.v.lanes()
	for row := range lanes {
		r := v.v.r(lanes + row)
		if n < lanes {
			r = "Y" + r[1:]
		}
		v.move(r, "(DI)", false)
		if row < lanes-1 {
			v.op("DECQ", "CX")
			v.op("JEQ", name+"_stored")
			v.op("ADDQ", "R14", "DI")
		}
	}
	v.label(name + "_stored")
	v.op("ADDQ", fmt.Sprintf("$%d", 4*n), "DX")
	v.op("ADDQ", fmt.Sprintf("$%d", 4*n), "R13")
}
