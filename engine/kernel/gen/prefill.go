package main

import "fmt"

// prefillRows writes the routine that attends sixteen consecutive queries of one head, or
// fewer, with a lane of a register for each: scores, their exponentials, their sum and the
// mix divided by it. What one query adds up in order of the keys is then a lane of a
// register too. The width of a head is a multiple of sixteen.
//
//	SI scores   DX keys   BX queries   CX keys left   R9 rows   R10 keys of the first row
//	R12 headDim   R13 key at a column   R14 columns left   R15 queries at a column
func prefillRows(t *text, consts map[string]uint32) {
	name := "prefillRows" + avx512.name
	routineText(t, avx512, name, name+"(call *prefillCall)", 8, consts, func(v *vec) {
		v.op("MOVQ", "call+0(FP)", "CX")
		for _, r := range [][2]string{{"rows", "R9"}, {"n", "R10"}, {"headDim", "R12"}} {
			v.op("MOVQ", "prefillCall_"+r[0]+"(CX)", r[1])
		}
		v.scoreQueries()
		v.softQueries()
		v.mixQueries()
	})
}

// fmaSpread adds a·x to acc, where a is one float32 in memory.
func (v *vec) fmaSpread(acc, a, x string) { v.op("VFMADD231PS.BCST", a, x, acc) }

// zeros takes the first sixteen registers and sets them to zero.
func (v *vec) zeros() []string {
	sums := make([]string, 16)
	for i := range sums {
		r := v.take(i)
		sums[i] = v.into(xorBits, r, r, r)
	}
	return sums
}

// scoreQueries multiplies the queries by the keys, a panel of sixteen at a time.
func (v *vec) scoreQueries() {
	for _, r := range [][2]string{{"scores", "SI"}, {"keys", "DX"}, {"queries", "BX"}} {
		v.op("MOVQ", "prefillCall_"+r[0]+"(CX)", r[1])
	}
	v.op("LEAQ", "14(R10)(R9*1)", "CX")
	v.op("SHRQ", "$4", "CX")
	v.op("MOVQ", "DX", "R13")
	v.label("panel")
	scores, x := v.zeros(), v.new()
	v.op("MOVQ", "BX", "R15")
	v.op("MOVQ", "R12", "R14")
	v.label("column")
	v.move("(R15)", x, true)
	for key, score := range scores {
		v.fmaSpread(score, fmt.Sprintf("%d(R13)", 4*key), x)
	}
	v.op("ADDQ", "$64", "R15")
	v.op("ADDQ", "$64", "R13")
	v.op("DECQ", "R14")
	v.op("JNZ", "column")
	for key, score := range scores {
		v.move(score, fmt.Sprintf("%d(SI)", 64*key), false)
	}
	v.drop(x)
	v.drop(scores...)
	v.op("ADDQ", "$1024", "SI")
	v.op("DECQ", "CX")
	v.op("JNZ", "panel")
}

// overKeys runs a body for the scores of each key at SI: of those that all queries see, and
// then, under the mask K1, of those that only the later ones do.
func (v *vec) overKeys(name string, body func(mask []any)) {
	v.op("MOVQ", "R10", "CX")
	v.label(name)
	body(nil)
	v.op("ADDQ", "$64", "SI")
	v.op("DECQ", "CX")
	v.op("JNZ", name)
	v.op("MOVQ", "R9", "CX")
	v.op("DECQ", "CX")
	v.op("JEQ", name+"_done")
	v.op("MOVL", "$0xfffe", "AX")
	v.op("KMOVW", "AX", "K1")
	v.label(name + "_later")
	body([]any{"K1"})
	v.op("KSHIFTLW", "$1", "K1", "K1")
	v.op("ADDQ", "$64", "SI")
	v.op("DECQ", "CX")
	v.op("JNZ", name+"_later")
	v.label(name + "_done")
}

// under writes an operation on two registers, or on memory and a register, whose result is
// in the second, in the lanes of the mask.
func (v *vec) under(mask []any, name, a, b string) {
	v.op(name, append(append([]any{a, b}, mask...), b)...)
}

// softQueries finds the maxima and replaces the scores by exponentials, of four keys side by
// side: the keys are rounded up to whole panels, and a query's later ones count for nothing.
func (v *vec) softQueries() {
	v.op("MOVQ", "call+0(FP)", "DX")
	v.op("MOVQ", "prefillCall_scores(DX)", "SI")
	m := v.new()
	v.set(m, v.bits(infinityBits|signMask))
	v.overKeys("max", func(mask []any) { v.under(mask, "VMAXPS", "(SI)", m) })
	scale, zero := v.broadcast("prefillCall_scale(DX)"), v.new()
	v.into(xorBits, zero, zero, zero)
	v.add(m, zero) // a zero as +0
	v.drop(zero)
	v.mul(m, scale)
	for _, r := range [][2]string{{"maxima", "AX"}, {"scores", "SI"}} {
		v.op("MOVQ", "prefillCall_"+r[0]+"(DX)", r[1])
	}
	v.move(m, "(AX)", false)
	v.op("LEAQ", "-1(R10)(R9*1)", "CX")
	v.label("exp")
	at := func(i int) string { return fmt.Sprintf("%d(SI)", 64*i) }
	x := make([]string, 4)
	for i := range x {
		x[i] = v.new()
		v.move(at(i), x[i], true)
		v.mul(x[i], scale)
		v.sub(x[i], m)
	}
	p := v.expsBelow(x...)
	for i := range p {
		v.move(p[i], at(i), false)
	}
	v.op("ADDQ", "$256", "SI")
	v.op("SUBQ", "$4", "CX")
	v.op("JGT", "exp")
	v.drop(p...)
	v.drop(m, scale)
}

// mixQueries adds up the exponentials and the values that they weigh, and divides.
func (v *vec) mixQueries() {
	v.op("MOVQ", "R12", "R8")
	v.op("SHLQ", "$2", "R8")
	v.overColumns("prefillCall", "scores", "values", "out", func(mix []string, add func(mask []any, weights string)) {
		p, sum := v.new(), v.new()
		v.into(xorBits, sum, sum, sum)
		v.overKeys("mix", func(mask []any) {
			v.move("(SI)", p, true)
			v.under(mask, "VADDPS", p, sum)
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

// overColumns writes to the rows of out what a body adds up for sixteen columns, each a
// register with a lane for each query: weights, at SI, times the rows of values, R8 apart.
// The body has the call in BX.
//
//	DX values at these columns   R13 out   R11 columns left   DI value at a key
func (v *vec) overColumns(call, weights, values, out string, body func(sums []string, add func(mask []any, weights string))) {
	v.op("MOVQ", "call+0(FP)", "BX")
	for _, r := range [][2]string{{values, "DX"}, {out, "R13"}, {"headDim", "R11"}} {
		v.op("MOVQ", call+"_"+r[0]+"(BX)", r[1])
	}
	v.label("columns")
	v.op("MOVQ", call+"_"+weights+"(BX)", "SI")
	v.op("MOVQ", "DX", "DI")
	sums := v.zeros()
	body(sums, func(mask []any, weights string) {
		for column, sum := range sums {
			v.op("VFMADD231PS.BCST", append(append([]any{fmt.Sprintf("%d(DI)", 4*column), weights}, mask...), sum)...)
		}
		v.op("ADDQ", "R8", "DI")
	})
	v.drop(sums...)
	v.op("MOVQ", call+"_stride(BX)", "R14")
	v.op("MOVQ", "R13", "DI")
	v.op("MOVQ", "R9", "CX")
	transposeSquare(v.text, v.v)
	for row := range 16 {
		v.move(v.v.r(16+row), "(DI)", false)
		if row < 15 {
			v.op("DECQ", "CX")
			v.op("JEQ", "stored")
			v.op("ADDQ", "R14", "DI")
		}
	}
	v.label("stored")
	v.op("ADDQ", "$64", "DX")
	v.op("ADDQ", "$64", "R13")
	v.op("SUBQ", "$16", "R11")
	v.op("JNZ", "columns")
}
