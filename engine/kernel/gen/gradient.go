package main

import "fmt"

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
	name := "gradRows" + isa.name
	routineText(t, isa, name, name+"(call *gradCall)", 8, consts, func(v *vec) {
		v.op("MOVQ", "call+0(FP)", "CX")
		for _, r := range [][2]string{{"rows", "R9"}, {"n", "R10"}, {"keyStride", "R8"}} {
			v.op("MOVQ", "gradCall_"+r[0]+"(CX)", r[1])
		}
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
	for _, r := range [][2]string{{"probs", "SI"}, {"dprobs", "DI"}, {"keys", "R13"}, {"values", "AX"}} {
		v.op("MOVQ", "gradCall_"+r[0]+"(CX)", r[1])
	}
	v.op("LEAQ", "(R13)(R8*4)", "R15")
	v.op("LEAQ", "(AX)(R8*4)", "R12")
	v.op("LEAQ", "(R8)(R8*2)", "R11")
	v.op("MOVQ", "gradCall_keyCount(CX)", "CX")
	v.label("keys")
	v.op("MOVQ", "call+0(FP)", "BX")
	v.op("MOVQ", "gradCall_headDim(BX)", "R14")
	v.op("MOVQ", "gradCall_queries(BX)", "BX")
	v.op("MOVQ", "R14", "DX")
	v.op("SHLQ", "$6", "DX")
	sums, x, y, count := v.zeros(v.v.lanes()), v.new(), v.new(), v.v.gradKeyCount()
	const unroll = 4
	v.label("column")
	at := func(low, high string, key, offset int) string {
		return fmt.Sprintf("%d(%s)%s", offset, []string{low, high}[key/4], []string{"", "(R8*1)", "(R8*2)", "(R11*1)"}[key%4])
	}
	for c := range unroll {
		v.move(fmt.Sprintf("%d(BX)", 64*c), x, true)
		v.move(fmt.Sprintf("%d(BX)(DX*1)", 64*c), y, true)
		for key := range count {
			v.fmaSpread(sums[key], at("R13", "R15", key, 4*c), x)
			v.fmaSpread(sums[count+key], at("AX", "R12", key, 4*c), y)
		}
	}
	rows := []string{"R13", "R15", "AX", "R12"}
	v.op("ADDQ", fmt.Sprintf("$%d", 64*unroll), "BX")
	for _, r := range rows {
		v.op("ADDQ", fmt.Sprintf("$%d", 4*unroll), r)
	}
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
// those behind the last row's too: there are some where the block goes on.
func (v *vec) gradScores() {
	v.op("MOVQ", "call+0(FP)", "BX")
	load := func() {
		v.op("MOVQ", "gradCall_probs(BX)", "SI")
		v.op("MOVQ", "gradCall_dprobs(BX)", "DI")
	}
	load()
	p, g, sum := v.new(), v.new(), v.new()
	v.into(xorBits, sum, sum, sum)
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
	v.label("behind")
	v.move(g, "(SI)", false)
	v.move(g, "(DI)", false)
	v.op("ADDQ", "$64", "SI")
	v.op("ADDQ", "$64", "DI")
	v.op("DECQ", "CX")
	v.op("JNZ", "behind")
	v.label("ended")
	v.drop(p, g, sum, scale)
}

// gradQueries multiplies the gradients of the scores by the keys.
func (v *vec) gradQueries() {
	v.overColumns("gradCall", "dprobs", "keys", "dq", func(name string, _ []string, add func(mask, weights string)) {
		weights := v.new()
		v.op("MOVQ", "gradCall_keyCount(BX)", "CX")
		v.label(name)
		v.move("(SI)", weights, true)
		add("", weights)
		v.op("ADDQ", "$64", "SI")
		v.op("DECQ", "CX")
		v.op("JNZ", name)
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
	name := "gradKeys" + isa.name
	routineText(t, isa, name, name+"(dst, weights, rows *float32, dstStride, rowStride, keys, headDim int)", 56, nil, func(v *vec) {
		for i, name := range []string{"dst+0", "rows+16", "dstStride+24", "rowStride+32", "headDim+48"} {
			v.op("MOVQ", name+"(FP)", []string{"R13", "DX", "R8", "R14", "R11"}[i])
		}
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
			at := func(key int) string {
				return []string{"(DI)", "(R15)"}[key/4] + []string{"", "(R8*1)", "(R8*2)", "(R12*1)"}[key%4]
			}
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
			v.op("ADDQ", fmt.Sprintf("$%d", 64*count), "SI")
		}
		v.op("SUBQ", fmt.Sprintf("$%d", len(sums)), "CX")
		v.op("JLT", "single")
		v.label("several")
		v.op("LEAQ", "(DI)(R8*4)", "R15")
		keys(len(sums))
		if len(sums) == 4 {
			v.op("MOVQ", "R15", "DI")
		} else {
			v.op("LEAQ", "(R15)(R8*4)", "DI")
		}
		v.op("SUBQ", fmt.Sprintf("$%d", len(sums)), "CX")
		v.op("JGE", "several")
		v.label("single")
		v.op("ADDQ", fmt.Sprintf("$%d", len(sums)), "CX")
		v.op("JEQ", "done")
		v.label("one")
		keys(1)
		v.op("ADDQ", "R8", "DI")
		v.op("DECQ", "CX")
		v.op("JNZ", "one")
		v.label("done")
		v.op("ADDQ", fmt.Sprintf("$%d", isa.bytes), "DX")
		v.op("ADDQ", fmt.Sprintf("$%d", isa.bytes), "R13")
		v.op("SUBQ", fmt.Sprintf("$%d", isa.lanes()), "R11")
		v.op("JNZ", "columns")
	})
}
