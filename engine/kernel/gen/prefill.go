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
	routineText(t, isa, entry{name: "prefillRows", parameters: "(call *prefillCall)", args: 8, chosen: true}, consts, func(v *vec) {
		v.call("prefillCall", "CX", "rows R9", "n R10", "headDim R12")
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
	v.fields("prefillCall", "CX", "scores SI", "keys DX", "queries BX", "panelStride R11")
	v.op("LEAQ", "14(R10)(R9*1)", "CX")
	v.op("SHRQ", "$4", "CX")
	v.loop("panel", "CX", func() {
		for first := 0; first < 16; first += v.v.lanes() {
			column := fmt.Sprintf("column%d", first)
			scores, x := v.zeros(v.v.lanes()), v.new()
			v.op("MOVQ", "DX", "R13")
			v.op("MOVQ", "BX", "R15")
			v.op("MOVQ", "R12", "R14")
			v.loop(column, "R14", func() {
				v.move("(R15)", x, true)
				for key, score := range scores {
					v.fmaSpread(score, fmt.Sprintf("%d(R13)", 4*(first+key)), x)
				}
				v.advance(64, "R15", "R13")
			})
			for key, score := range scores {
				v.move(score, fmt.Sprintf("%d(SI)", 64*(first+key)), false)
			}
			v.drop(x)
			v.drop(scores...)
		}
		v.op("ADDQ", "$1024", "SI")
		v.op("ADDQ", "R11", "DX")
	})
}

// overKeys runs a body for the scores of each key at SI: of those that all queries see, and
// then, under a mask, of those that only the later ones do. AVX-512's mask has the lanes that
// do, AVX2's those that do not.
func (v *vec) overKeys(name string, body func(mask string)) {
	v.op("MOVQ", "R10", "CX")
	v.loop(name, "CX", func() {
		body("")
		v.op("ADDQ", "$64", "SI")
	})
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
	v.loop(name+"_later", "CX", func() {
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
	})
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
	v.call("prefillCall", "DX", "scores SI")
	m := v.new()
	v.set(m, v.bits(infinityBits|signMask))
	v.overKeys("max", func(mask string) { v.under(mask, "VMAXPS", "(SI)", m) })
	scale := v.broadcast("prefillCall_scale(DX)")
	v.scaleMaxima(m, scale)
	v.fields("prefillCall", "DX", "maxima AX", "scores SI")
	v.move(m, "(AX)", false)
	v.op("LEAQ", "-1(R10)(R9*1)", "CX")
	v.op("MOVQ", "prefillCall_unrounded(DX)", "DI")
	v.op("ADDQ", "SI", "DI")
	v.label("exp")
	p := v.softExps(scale, fourVectors("SI"), []string{m})
	v.storeProbs(p, fourVectors("SI"), fourVectors("DI"), "kept")
	v.advance(256, "DI", "SI")
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
	v.shift("VPSRLD", "VUSHR", 16, x, odd)
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
	zero := v.zeroed()
	v.add(m, zero)
	v.drop(zero)
	v.mul(m, scale)
}

// mixQueries adds up the exponentials and the values that they weigh, and divides.
func (v *vec) mixQueries() {
	v.call("prefillCall", "CX", "valueStride R8")
	v.overColumns("prefillCall", "scores", "values", "out", func(name string, mix []string, add func(mask, weights string)) {
		p, sum := v.new(), v.zeroed()
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
	v.call(call, "BX", values+" DX", out+" R13", "headDim R11")
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
// are that many left, and where these are sixteen another one for the last eight. It begins at the
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
	v.advance(4*n, "DX", "R13")
}

// gradKeyCount is how many keys the routines take side by side.
func (v isa) gradKeyCount() int { return v.lanes() / 2 }

// gradRows writes the routine that takes the gradient of attention with respect to as many
// consecutive queries of one head as a register has lanes, or fewer, as prefillRows has them:
// probabilities, their gradients, those of the scores, and dq. There are as many keys as it
// takes side by side, or more, and the width of a head is a multiple of eight.
//
//	SI probabilities   DI gradients   R9 rows   R10 keys of the first row
//	R8 from key to key   CX keys left
func gradRows(t *text, isa isa, consts map[string]uint32) {
	routineText(t, isa, entry{name: "queryGrads", parameters: "(call *gradCall)", args: 8, chosen: true}, consts, func(v *vec) {
		v.call("gradCall", "CX", "rows R9", "n R10", "keyStride R8")
		v.gradProbs()
		v.gradScores()
		v.gradQueries()
	})
}

// gradProbs multiplies the queries by the keys and their gradients by the values, a few keys
// at a time, and takes the exponentials.
//
//	R13, R15 keys 0 and 4 at a column   AX, R12 values   R11 three times R8   BX queries at a
//	column   DX from queries to their gradients   R14 columns left
func (v *vec) gradProbs() {
	v.fields("gradCall", "CX", "probs SI", "dprobs DI", "keys R13", "values AX")
	v.op("LEAQ", "(R13)(R8*4)", "R15")
	v.op("LEAQ", "(AX)(R8*4)", "R12")
	v.op("LEAQ", "(R8)(R8*2)", "R11")
	v.op("MOVQ", "gradCall_keyCount(CX)", "CX")
	v.label("keys")
	v.call("gradCall", "BX", "headDim R14", "queries BX")
	v.op("MOVQ", "R14", "DX")
	v.op("SHLQ", "$6", "DX")
	sums, x, y, count := v.zeros(v.v.lanes()), v.new(), v.new(), v.v.gradKeyCount()
	const unroll = 4
	v.label("column")
	for c := range unroll {
		v.move(fmt.Sprintf("%d(BX)", 64*c), x, true)
		v.move(fmt.Sprintf("%d(BX)(DX*1)", 64*c), y, true)
		for key := range count {
			v.fmaSpread(sums[key], fmt.Sprint(4*c, rowAt([]string{"R13", "R15"}, "R8", "R11", key)), x)
			v.fmaSpread(sums[count+key], fmt.Sprint(4*c, rowAt([]string{"AX", "R12"}, "R8", "R11", key)), y)
		}
	}
	rows := []string{"R13", "R15", "AX", "R12"}
	v.advance(64*unroll, "BX")
	v.advance(4*unroll, rows...)
	v.op("SUBQ", fmt.Sprintf("$%d", unroll), "R14")
	v.op("JNZ", "column")
	for key, sum := range sums[count:] {
		v.move(sum, fmt.Sprintf("%d(DI)", 64*key), false)
	}
	v.drop(sums[count:]...)
	v.op("MOVQ", "call+0(FP)", "BX")
	v.op("VBROADCASTSS", "gradCall_scale(BX)", x)
	v.op("MOVQ", "gradCall_lse(BX)", "BX")
	v.move("(BX)", y, true)
	for _, sum := range sums[:count] {
		v.mul(sum, x)
		v.sub(sum, y)
	}
	for key := 0; key < count; key += 4 {
		for i, p := range v.exps(sums[key : key+4]...) {
			v.move(p, fmt.Sprintf("%d(SI)", 64*(key+i)), false)
			v.drop(p)
		}
	}
	v.drop(x, y)
	// The last group ends with the last key, and shares keys with the one before.
	v.op("SUBQ", fmt.Sprintf("$%d", count), "CX")
	v.op("JEQ", "multiplied")
	v.op("MOVQ", fmt.Sprintf("$%d", count), "BX")
	v.op("CMPQ", "CX", "BX")
	v.op("CMOVQLT", "CX", "BX") // keys to go on by
	v.op("MOVQ", "BX", "R14")
	v.op("IMULQ", "R8", "R14")
	v.op("SHRQ", "$4", "DX")
	v.op("SUBQ", "DX", "R14")
	for _, r := range rows {
		v.op("ADDQ", "R14", r)
	}
	v.op("SHLQ", "$6", "BX")
	v.op("ADDQ", "BX", "SI")
	v.op("ADDQ", "BX", "DI")
	v.op("CMPQ", "CX", fmt.Sprintf("$%d", count))
	v.op("JGE", "keys")
	v.op("MOVQ", fmt.Sprintf("$%d", count), "CX")
	v.op("JMP", "keys")
	v.label("multiplied")
}

// gradScores adds up the products of probabilities and their gradients, key by key, and then
// takes the gradients of the scores. Both are zero for the keys that a query does not see,
// those after the last row's too: there are some where the block goes on.
func (v *vec) gradScores() {
	v.op("MOVQ", "call+0(FP)", "BX")
	load := func() {
		v.op("MOVQ", "gradCall_probs(BX)", "SI")
		v.op("MOVQ", "gradCall_dprobs(BX)", "DI")
	}
	load()
	p, g, sum := v.new(), v.new(), v.zeroed()
	v.overKeys("sum", func(mask string) {
		v.move("(SI)", p, true)
		if mask != "" {
			v.keepUnder(mask, p)
			v.move(p, "(SI)", false)
		}
		v.into(multiplication, g, p, "(DI)")
		v.keepUnder(mask, g)
		v.add(sum, g)
		v.op("ADDQ", "$64", "DI")
	})
	load()
	scale := v.broadcast("gradCall_scale(BX)")
	v.overKeys("scores", func(mask string) {
		v.move("(DI)", g, true)
		v.sub(g, sum)
		v.into(multiplication, g, g, "(SI)")
		v.mul(g, scale)
		v.keepUnder(mask, g)
		v.move(g, "(DI)", false)
		v.op("ADDQ", "$64", "DI")
	})
	v.op("MOVQ", "gradCall_keyCount(BX)", "CX")
	v.op("SUBQ", "R10", "CX")
	v.op("SUBQ", "R9", "CX")
	v.op("ADDQ", "$1", "CX")
	v.op("JEQ", "ended")
	v.into(xorBits, g, g, g)
	v.loop("behind", "CX", func() {
		v.move(g, "(SI)", false)
		v.move(g, "(DI)", false)
		v.advance(64, "SI", "DI")
	})
	v.label("ended")
	v.drop(p, g, sum, scale)
}

// gradQueries multiplies the gradients of the scores by the keys.
func (v *vec) gradQueries() {
	v.overColumns("gradCall", "dprobs", "keys", "dq", func(name string, _ []string, add func(mask, weights string)) {
		weights := v.new()
		v.op("MOVQ", "gradCall_keyCount(BX)", "CX")
		v.loop(name, "CX", func() {
			v.move("(SI)", weights, true)
			add("", weights)
			v.op("ADDQ", "$64", "SI")
		})
		v.drop(weights)
	})
}

// gradKeys writes the routine that adds to the gradients of keys, or of values, what as many
// queries as a register has lanes give: the rows of those (or of the gradients of what they
// attend to), weighed by a lane each, query by query.
//
//	SI weights   DX rows at these columns   R13 dst   R8, R14 strides of dst and of the rows
//	R12 three times R8   R11 columns left   CX keys left   DI, R15 keys 0 and 4 of dst
func gradKeys(t *text, isa isa) {
	e := entry{name: "gradKeys", parameters: "(dst, weights, rows *float32, dstStride, rowStride, keys, headDim int)", args: 56}
	routineText(t, isa, e, nil, func(v *vec) {
		v.arguments("dst R13", "_", "rows DX", "dstStride R8", "rowStride R14", "_", "headDim R11")
		v.op("SHLQ", "$2", "R8")
		v.op("SHLQ", "$2", "R14")
		v.op("LEAQ", "(R8)(R8*2)", "R12")
		rows, sums := make([]string, isa.lanes()), make([]string, isa.gradKeyCount())
		for r := range rows {
			rows[r] = v.new()
		}
		for key := range sums {
			sums[key] = v.new()
		}
		v.label("columns")
		v.op("MOVQ", "DX", "AX")
		for r := range rows {
			v.move("(AX)", rows[r], true)
			v.op("ADDQ", "R14", "AX")
		}
		v.op("MOVQ", "weights+8(FP)", "SI")
		v.op("MOVQ", "keys+40(FP)", "CX")
		v.op("MOVQ", "R13", "DI")
		keys := func(count int) {
			at := func(key int) string { return rowAt([]string{"DI", "R15"}, "R8", "R12", key) }
			for key := range count {
				v.move(at(key), sums[key], true)
			}
			for r, row := range rows {
				for key := range count {
					v.fmaSpread(sums[key], fmt.Sprintf("%d(SI)", 64*key+4*r), row)
				}
			}
			for key := range count {
				v.move(sums[key], at(key), false)
			}
			v.advance(64*count, "SI")
		}
		v.inSteps("several", "single", "CX", len(sums), func() {
			v.op("LEAQ", "(DI)(R8*4)", "R15")
			keys(len(sums))
			if len(sums) == 4 {
				v.op("MOVQ", "R15", "DI")
			} else {
				v.op("LEAQ", "(R15)(R8*4)", "DI")
			}
		})
		v.op("JEQ", "done")
		v.loop("one", "CX", func() {
			keys(1)
			v.op("ADDQ", "R8", "DI")
		})
		v.label("done")
		v.advance(isa.bytes, "DX", "R13")
		v.op("SUBQ", fmt.Sprintf("$%d", isa.lanes()), "R11")
		v.op("JNZ", "columns")
	})
}
