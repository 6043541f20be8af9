package main

import "fmt"

// decodeHeadCounts are how many heads of one query a routine attends: four side by side
// hide the latency of their sums.
var decodeHeadCounts = []int{4, 1}

// decodeHeads writes the routine that attends some heads of one query, each to the keys and
// values of its own head: scores, their exponentials, and the mix divided by their sum. The
// width of a head is a multiple of eight. Exponentials may be rounded to bf16, as in prefillRows.
// With each line of keys and values one of the query to come is asked for.
//
//	SI scores   BX q   DX keys   R8 from head to head of q   R9 of the scores   R13 of the keys
//	R15, AX, R12 three times R8, R9, R13   R10 keys to come   R11 from panel to panel
func decodeHeads(t *text, isa isa, consts map[string]uint32, heads int) {
	name := fmt.Sprintf("decodeHeads%sx%d", isa.name, heads)
	routineText(t, isa, name, name+"(call *decodeCall)", 8, consts, func(v *vec) {
		v.op("MOVQ", "call+0(FP)", "CX")
		for _, r := range [][2]string{{"scores", "SI"}, {"q", "BX"}, {"keys", "DX"}, {"headDim", "R8"}, {"ld", "R9"}, {"headDim", "R13"}, {"nextKeys", "R10"}, {"panelStride", "R11"}} {
			v.op("MOVQ", "decodeCall_"+r[0]+"(CX)", r[1])
		}
		v.op("SHLQ", "$2", "R8")
		v.op("SHLQ", "$6", "R13")
		for _, triple := range [][2]string{{"R8", "R15"}, {"R9", "AX"}, {"R13", "R12"}} {
			v.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", triple[0], triple[0]), triple[1])
		}
		maxima := make([]string, heads)
		for h := range maxima {
			maxima[h] = v.new()
			v.set(maxima[h], v.bits(infinityBits|signMask))
		}
		v.scoreHeads(maxima)
		v.softHeads(maxima)
		v.mixHeads(heads)
	})
}

// ofHead is the address of a head's element: stride and three times the stride are registers.
func ofHead(base, stride, triple string, head, offset int) string {
	return fmt.Sprintf("%d(%s)%s", offset, base, []string{"", "(" + stride + "*1)", "(" + stride + "*2)", "(" + triple + "*1)"}[head])
}

// scoreHeads multiplies q by the panels of its heads' keys, and takes the maxima.
//
//	CX panels left   R14 columns left   DI keys of the second of two panels
func (v *vec) scoreHeads(maxima []string) {
	panels := 1
	if v.v == avx512 {
		panels = 2
	}
	v.op("MOVQ", "decodeCall_n(CX)", "CX")
	v.op("SHRQ", "$4", "CX") // whole ones
	if panels == 2 {
		v.op("SUBQ", "$2", "CX")
		v.op("JLT", "less")
		v.label("pair")
		v.scorePanels("pair", 2, maxima, false)
		v.op("SUBQ", "$2", "CX")
		v.op("JGE", "pair")
		v.label("less")
		v.op("ADDQ", "$2", "CX")
	}
	v.op("TESTQ", "CX", "CX")
	v.op("JEQ", "part")
	v.label("single")
	v.scorePanels("single", 1, maxima, false)
	v.op("DECQ", "CX")
	v.op("JNZ", "single")
	v.label("part")
	v.op("MOVQ", "call+0(FP)", "CX")
	v.op("MOVQ", "decodeCall_n(CX)", "CX")
	v.op("ANDQ", "$15", "CX")
	v.op("JEQ", "scored")
	v.scorePanels("part", 1, maxima, true)
	v.label("scored")
}

// scorePanels takes one panel or two; of the last, CX keys may be all that there are.
func (v *vec) scorePanels(name string, panels int, maxima []string, part bool) {
	per := 16 / v.v.lanes() // registers of a panel
	sums := make([][]string, len(maxima))
	for h := range sums {
		for range panels * per {
			r := v.new()
			sums[h] = append(sums[h], v.into(xorBits, r, r, r))
		}
	}
	v.op("MOVQ", "R8", "R14")
	v.op("SHRQ", "$2", "R14")
	if panels == 2 {
		v.op("LEAQ", "(DX)(R11*1)", "DI")
	}
	v.label(name + "_column")
	for i := range panels * len(maxima) {
		v.op("PREFETCHT1", fmt.Sprintf("%d(R10)", 64*i))
	}
	v.op("ADDQ", fmt.Sprintf("$%d", 64*panels*len(maxima)), "R10")
	for h, sums := range sums {
		x := v.broadcast(ofHead("BX", "R8", "R15", h, 0))
		for i, sum := range sums {
			v.fma(sum, ofHead([]string{"DX", "DI"}[i/per], "R13", "R12", h, i%per*v.v.bytes), x)
		}
		v.drop(x)
	}
	v.op("ADDQ", "$4", "BX")
	v.op("ADDQ", "$64", "DX")
	if panels == 2 {
		v.op("ADDQ", "$64", "DI")
	}
	v.op("DECQ", "R14")
	v.op("JNZ", name+"_column")
	v.op("SUBQ", "R8", "BX")
	if panels == 2 {
		v.op("MOVQ", "DI", "DX")
	}
	v.op("SUBQ", "R13", "DX")
	v.op("ADDQ", "R11", "DX")
	for h, sums := range sums {
		for i, sum := range sums {
			v.move(sum, ofHead("SI", "R9", "AX", h, i*v.v.bytes), false)
		}
	}
	if part {
		v.maskLeft("R14")
	}
	for h, sums := range sums {
		for i, sum := range sums {
			switch {
			case !part:
				v.op("VMAXPS", sum, maxima[h], maxima[h])
			case v.v == avx512:
				v.op("VMAXPS", sum, maxima[h], "K1", maxima[h])
			default:
				mask := v.new()
				v.op("VMOVUPS", fmt.Sprintf("%d(R14)", i*v.v.bytes), mask)
				v.op("VBLENDVPS", mask, sum, maxima[h], sum)
				v.drop(mask)
				v.op("VMAXPS", sum, maxima[h], maxima[h])
			}
			v.drop(sum)
		}
	}
	v.op("ADDQ", fmt.Sprintf("$%d", 64*panels), "SI")
}

// softHeads replaces the scores by exponentials, those of a last panel all of them: what
// belongs to no key is not read. A maximum need not know of NaN, for the sum will.
func (v *vec) softHeads(maxima []string) {
	v.op("MOVQ", "call+0(FP)", "DX")
	for _, r := range [][2]string{{"maxima", "DI"}, {"scores", "SI"}, {"n", "R10"}} {
		v.op("MOVQ", "decodeCall_"+r[0]+"(DX)", r[1])
	}
	scale := v.broadcast("decodeCall_scale(DX)")
	v.op("MOVQ", "DI", "BX")
	v.op("MOVQ", "decodeCall_unrounded(DX)", "DI")
	v.op("ADDQ", "SI", "DI")
	for h, m := range maxima {
		v.maxEnd(m, "")
		v.scaleFirst(m, scale)
		v.storeFirst(m, fmt.Sprintf("%d(BX)", 4*h))
		v.spread(m)
	}
	together := min(len(maxima), 4)
	if v.v == avx2 {
		together = min(len(maxima), 2)
	}
	v.label("exp")
	for i := range 16 / v.v.lanes() {
		for h := 0; h < len(maxima); h += together {
			scores, unrounded := make([]string, together), make([]string, together)
			for j := range scores {
				scores[j] = ofHead("SI", "R9", "AX", h+j, i*v.v.bytes)
				unrounded[j] = ofHead("DI", "R9", "AX", h+j, i*v.v.bytes)
			}
			p := v.softExps(scale, scores, maxima[h:][:together])
			v.storeProbs(p, scores, unrounded, fmt.Sprintf("kept_%d_%d", i, h))
			v.drop(p...)
		}
	}
	v.op("ADDQ", "$64", "SI")
	v.op("ADDQ", "$64", "DI")
	v.op("SUBQ", "$16", "R10")
	v.op("JGT", "exp")
	v.drop(scale)
	v.drop(maxima...)
}

// mixHeads adds up the probabilities and the values that they weigh, key by key, a few columns
// of every head at a time.
//
//	AX scores   DX values   BX out   R8 from head to head of values and out
//	R9 of the scores   R12, R14 three times R9, R8   R10 from key to key of the values
//	SI score   R15 the same unrounded   DI value   R13 value to come   CX keys left
//	R11 columns left
func (v *vec) mixHeads(heads int) {
	v.op("MOVQ", "call+0(FP)", "CX")
	for _, r := range [][2]string{{"scores", "AX"}, {"values", "DX"}, {"out", "BX"}, {"headDim", "R8"}, {"ld", "R9"}, {"valueStride", "R10"}, {"headDim", "R11"}} {
		v.op("MOVQ", "decodeCall_"+r[0]+"(CX)", r[1])
	}
	v.op("SHLQ", "$2", "R8")
	for _, triple := range [][2]string{{"R9", "R12"}, {"R8", "R14"}} {
		v.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", triple[0], triple[0]), triple[1])
	}
	v.label("columns")
	v.op("SUBQ", "$16", "R11")
	v.op("JLT", "eight")
	v.mixColumns("mix16", heads, 16)
	v.op("JMP", "columns")
	v.label("eight")
	v.op("ADDQ", "$16", "R11")
	v.op("JEQ", "mixed")
	newVec(v.text, avx2, nil).mixColumns("mix8", heads, 8)
	v.label("mixed")
}

// mixColumns mixes that many columns, which are whole registers: with the exponentials that it
// also adds up, or with what they were rounded to.
func (v *vec) mixColumns(name string, heads, columns int) {
	per := columns / v.v.lanes()
	sums, mix := v.zeros(heads), make([]string, heads*per)
	for i := range mix {
		mix[i] = v.new()
		v.into(xorBits, mix[i], mix[i], mix[i])
	}
	v.op("MOVQ", "call+0(FP)", "CX")
	v.op("MOVQ", "decodeCall_unrounded(CX)", "R15")
	v.op("MOVQ", "decodeCall_nextValues(CX)", "R13")
	v.op("SUBQ", "decodeCall_values(CX)", "R13")
	v.op("ADDQ", "DX", "R13")
	v.op("MOVQ", "decodeCall_n(CX)", "CX")
	v.op("MOVQ", "AX", "SI")
	v.op("MOVQ", "DX", "DI")
	v.op("TESTQ", "R15", "R15")
	v.op("JEQ", name)
	v.op("ADDQ", "SI", "R15")
	overKeys := func(name string, rounded bool) {
		v.label(name)
		for h := range heads {
			v.op("PREFETCHT1", ofHead("R13", "R8", "R14", h, 0))
			p := v.broadcast(ofHead("SI", "R9", "R12", h, 0))
			unrounded := half(p)
			if rounded {
				unrounded = ofHead("R15", "R9", "R12", h, 0)
			}
			v.op("VADDSS", unrounded, half(sums[h]), half(sums[h]))
			for i := range per {
				v.fma(mix[h*per+i], ofHead("DI", "R8", "R14", h, i*v.v.bytes), p)
			}
			v.drop(p)
		}
		v.op("ADDQ", "$4", "SI")
		if rounded {
			v.op("ADDQ", "$4", "R15")
		}
		v.op("ADDQ", "R10", "DI")
		v.op("ADDQ", "R10", "R13")
		v.op("DECQ", "CX")
		v.op("JNZ", name)
	}
	overKeys(name+"_rounded", true)
	v.op("JMP", name+"_divide")
	overKeys(name, false)
	v.label(name + "_divide")
	v.op("MOVQ", "call+0(FP)", "CX")
	v.op("MOVQ", "decodeCall_sums(CX)", "CX")
	for h := range heads {
		v.storeFirst(sums[h], fmt.Sprintf("%d(CX)", 4*h))
		v.spread(sums[h])
		for i := range per {
			v.move(v.div(mix[h*per+i], sums[h]), ofHead("BX", "R8", "R14", h, i*v.v.bytes), false)
		}
	}
	v.drop(append(sums, mix...)...)
	v.op("ADDQ", fmt.Sprintf("$%d", 4*columns), "DX")
	v.op("ADDQ", fmt.Sprintf("$%d", 4*columns), "BX")
}
