package main

import "fmt"

// decodeHeadCounts are how many heads of one query a routine attends: four side by side
// hide the latency of their sums.
var decodeHeadCounts = []int{4, 1}

func decodeEntry(heads int) entry {
	return entry{name: fmt.Sprintf("decodeHeads%d", heads), parameters: "(call *decodeCall)", args: 8, chosen: true}
}

// decodeHeads writes the routine that attends some heads of one query, each to the keys and
// values of its own head: scores, their exponentials, and the mix divided by their sum. The
// width of a head is a multiple of eight. Exponentials may be rounded to bf16, as in prefillRows.
// With each line of keys and values one of the query to come is asked for.
//
//	SI scores   BX q   DX keys   R8 from head to head of q   R9 of the scores   R13 of the keys
//	R15, AX, R12 three times R8, R9, R13   R10 keys to come   R11 from panel to panel
func decodeHeads(t *text, isa isa, consts map[string]uint32, heads int) {
	routineText(t, isa, decodeEntry(heads), consts, func(v *vec) {
		v.call("decodeCall", "CX", "scores SI", "q BX", "keys DX", "headDim R8", "ld R9", "headDim R13", "nextKeys R10", "panelStride R11")
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
	return fmt.Sprint(offset, rowAt([]string{base}, stride, triple, head))
}

// scoreHeads multiplies q by the panels of its heads' keys, and takes the maxima.
//
//	CX panels left   R14 columns left   DI keys of the second of two panels
func (v *vec) scoreHeads(maxima []string) {
	v.op("MOVQ", "decodeCall_n(CX)", "CX")
	v.op("SHRQ", "$4", "CX") // whole ones
	if v.v == avx512 {
		v.inSteps("pair", "less", "CX", 2, func() { v.scorePanels("pair", 2, maxima, false) })
	}
	v.op("TESTQ", "CX", "CX")
	v.op("JEQ", "part")
	v.loop("single", "CX", func() { v.scorePanels("single", 1, maxima, false) })
	v.label("part")
	v.call("decodeCall", "CX", "n CX")
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
			sums[h] = append(sums[h], v.zeroed())
		}
	}
	v.op("MOVQ", "R8", "R14")
	v.op("SHRQ", "$2", "R14")
	keys := []string{"DX", "DI"}[:panels]
	if panels == 2 {
		v.op("LEAQ", "(DX)(R11*1)", "DI")
	}
	v.loop(name+"_column", "R14", func() {
		for i := range panels * len(maxima) {
			v.op("PREFETCHT1", fmt.Sprintf("%d(R10)", 64*i))
		}
		v.advance(64*panels*len(maxima), "R10")
		for h, sums := range sums {
			x := v.broadcast(ofHead("BX", "R8", "R15", h, 0))
			for i, sum := range sums {
				v.fma(sum, ofHead(keys[i/per], "R13", "R12", h, i%per*v.v.bytes), x)
			}
			v.drop(x)
		}
		v.advance(4, "BX")
		v.advance(64, keys...)
	})
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
	v.advance(64*panels, "SI")
}

// softHeads replaces the scores by exponentials, those of a last panel all of them: what
// belongs to no key is not read. A maximum need not know of NaN, for the sum will.
func (v *vec) softHeads(maxima []string) {
	v.call("decodeCall", "DX", "maxima DI", "scores SI", "n R10")
	scale := v.broadcast("decodeCall_scale(DX)")
	v.op("MOVQ", "DI", "BX")
	v.op("MOVQ", "decodeCall_unrounded(DX)", "DI")
	v.op("ADDQ", "SI", "DI")
	for h, m := range maxima {
		v.scaledMaximum(scale, m, "", fmt.Sprintf("%d(BX)", 4*h))
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
	v.advance(64, "SI", "DI")
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
	v.call("decodeCall", "CX", "scores AX", "values DX", "out BX", "headDim R8", "ld R9", "valueStride R10", "headDim R11")
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
		mix[i] = v.zeroed()
	}
	v.call("decodeCall", "CX", "unrounded R15", "nextValues R13")
	v.op("SUBQ", "decodeCall_values(CX)", "R13")
	v.op("ADDQ", "DX", "R13")
	v.op("MOVQ", "decodeCall_n(CX)", "CX")
	v.op("MOVQ", "AX", "SI")
	v.op("MOVQ", "DX", "DI")
	v.op("TESTQ", "R15", "R15")
	v.op("JEQ", name)
	v.op("ADDQ", "SI", "R15")
	v.overProbs(name+"_rounded", name, name+"_divide", "CX", []string{"SI", "R15"}, func(probs []string) {
		for h := range heads {
			v.op("PREFETCHT1", ofHead("R13", "R8", "R14", h, 0))
			p := v.broadcast(ofHead(probs[0], "R9", "R12", h, 0))
			unrounded := half(p)
			if len(probs) > 1 {
				unrounded = ofHead(probs[1], "R9", "R12", h, 0)
			}
			v.op("VADDSS", unrounded, half(sums[h]), half(sums[h]))
			for i := range per {
				v.fma(mix[h*per+i], ofHead("DI", "R8", "R14", h, i*v.v.bytes), p)
			}
			v.drop(p)
		}
		v.advance(4, probs...)
		v.op("ADDQ", "R10", "DI")
		v.op("ADDQ", "R10", "R13")
	})
	v.call("decodeCall", "CX", "sums CX")
	for h := range heads {
		v.storeFirst(sums[h], fmt.Sprintf("%d(CX)", 4*h))
		v.spread(sums[h])
		for i := range per {
			v.move(v.div(mix[h*per+i], sums[h]), ofHead("BX", "R8", "R14", h, i*v.v.bytes), false)
		}
	}
	v.drop(append(sums, mix...)...)
	v.advance(4*columns, "DX", "BX")
}

// overProbs writes two loops over the keys, of which one runs: where exponentials are rounded, with
// pointers to those and to the unrounded ones, or with one pointer.
func (t *text) overProbs(rounded, plain, after, counter string, pointers []string, key func(probs []string)) {
	t.loop(rounded, counter, func() { key(pointers) })
	t.op("JMP", after)
	t.loop(plain, counter, func() { key(pointers[:1]) })
	t.label(after)
}

// decodeHeadsNEON is decodeHeads of arm64, which asks for nothing in advance.
//
//	R19 call
func decodeHeadsNEON(t *text, heads int) {
	name := t.open(neon, decodeEntry(heads))
	t.op("MOVD", "call+0(FP)", "R19")
	d := neonDecoder{t, heads}
	d.score()
	// The registers of constants are free before the exponentials, and after them.
	v := withConstants(t, neon, name, nil, func(v *vec) { softHeadsNEON(v, heads) })
	d.mix()
	t.end()
	v.table(name)
}

// neonDecoder writes what multiplies.
type neonDecoder struct {
	*text
	heads int
}

// apart sets the pointers of all heads, bytes apart; the first pointer is set already.
func (d neonDecoder) apart(pointers []string, bytes string) {
	for h := 1; h < d.heads; h++ {
		d.op("ADD", bytes, pointers[h-1], pointers[h])
	}
}

func (d neonDecoder) zero(from, n int) {
	for i := range n {
		d.op("VMOVI", "$0", neon.r(from+i)+".B16")
	}
}

// indexed is an address at a register, that of a head: R12 and R14 are two and three times the
// stride.
func indexed(base, stride string, head int) string {
	return "(" + base + ")" + []string{"", "(" + stride + ")", "(R12)", "(R14)"}[head]
}

// score multiplies q by whole panels of keys.
//
//	R1 q   R4 scores   R8 from head to head of q   R9 of the scores   R13 of the keys
//	R12, R14 two and three times R8   R17 from panel to panel less R13   R16 panels left
//	R2 columns left   R6 q at a column   R7 scores of a head   R20..R23 keys of the heads
func (d neonDecoder) score() {
	keys := []string{"R20", "R21", "R22", "R23"}
	d.fields("decodeCall", "R19", "q R1", "scores R4", "keys R20", "headDim R8", "ld R9", "panelStride R17", "n R16")
	d.op("LSL", "$6", "R8", "R13")
	d.op("LSL", "$2", "R8")
	d.op("ADD", "R8", "R8", "R12")
	d.op("ADD", "R12", "R8", "R14")
	d.op("SUB", "R13", "R17")
	d.op("ADD", "$15", "R16")
	d.op("LSR", "$4", "R16")
	d.apart(keys, "R13")
	d.loop("panel", "R16", func() {
		d.zero(0, 4*d.heads)
		d.op("MOVD", "R1", "R6")
		d.op("LSR", "$2", "R8", "R2")
		d.loop("score_column", "R2", func() {
			for h := range d.heads {
				d.multiply(h, 4, keys[h], indexed("R6", "R8", h))
				d.op("ADD", "$64", keys[h])
			}
			d.op("ADD", "$4", "R6")
		})
		d.op("MOVD", "R4", "R7")
		for h := range d.heads {
			d.save(h, 4, "R7")
			d.op("ADD", "R9", "R7")
			d.op("ADD", "R17", keys[h])
		}
		d.op("ADD", "$64", "R4")
	})
}

// multiply adds to a head's sums, that many registers of them, the vectors at an address times a
// number at another. Two sets of five registers after all sums take turns.
func (d neonDecoder) multiply(head, vectors int, at, by string) (x string) {
	free := 16 + head%2*5
	x = neon.r(free + 4)
	d.op("FMOVS", by, f(x))
	for i := 0; i < vectors; i += 2 {
		d.op("FLDPQ", fmt.Sprintf("%d(%s)", 16*i, at), fmt.Sprintf("(%s, %s)", f(neon.r(free+i)), f(neon.r(free+i+1))))
	}
	for i := range vectors {
		d.word("FMLA by element", neon.r(head*vectors+i), neon.r(free+i), x)
	}
	return x
}

func (d neonDecoder) save(head, vectors int, to string) {
	for i := 0; i < vectors; i += 2 {
		r := head*vectors + i
		d.op("FSTPQ", fmt.Sprintf("(%s, %s)", f(neon.r(r)), f(neon.r(r+1))), fmt.Sprintf("%d(%s)", 16*i, to))
	}
}

// softHeadsNEON replaces the scores by exponentials, head by head, and rounds them where there
// is another place for those that are not.
//
//	SI scores   DI unrounded   R7 maximum   R10 keys   R9 from head to head   R16 heads left
//	AX, R6 score, unrounded   CX keys left
func softHeadsNEON(v *vec, heads int) {
	v.fields("decodeCall", "R19", "scores SI", "unrounded DI", "maxima R7", "n R10", "ld R9")
	v.op("ADDQ", "SI", "DI")
	v.op("MOVQ", fmt.Sprintf("$%d", heads), "R16")
	scale, m := v.broadcast("decodeCall_scale(R19)"), v.new()
	v.address["x"] = "AX"
	v.loop("row", "R16", func() {
		v.rowMaximum(scale, m, "", "(R7)")
		v.op("MOVQ", "SI", "AX")
		v.op("MOVQ", "DI", "R6")
		v.op("MOVQ", "R10", "CX")
		v.label("exp")
		p := v.softExps(scale, []string{"(AX)", "16(AX)"}, []string{m})
		v.storeProbs(p, []string{"(AX)", "16(AX)"}, []string{"(R6)", "16(R6)"}, "kept")
		v.drop(p...)
		v.advance(32, "AX", "R6")
		v.op("SUBQ", "$8", "CX")
		v.op("BGT", "exp")
		v.op("ADDQ", "R9", "SI")
		v.op("ADDQ", "R9", "DI")
		v.op("ADDQ", "$4", "R7")
	})
	v.drop(scale, m)
}

// mix adds up the probabilities and the values that they weigh, sixteen columns of every head at
// a time and then eight.
//
//	R1 out   R3 values   R8 from head to head of both   R9 of scores   R12, R14 two and three
//	times R9   R10 from key to key   R11 columns left
func (d neonDecoder) mix() {
	d.fields("decodeCall", "R19", "out R1", "values R3", "headDim R8", "ld R9", "valueStride R10", "headDim R11")
	d.op("LSL", "$2", "R8")
	d.op("ADD", "R9", "R9", "R12")
	d.op("ADD", "R12", "R9", "R14")
	d.label("columns")
	d.op("SUBS", "$16", "R11")
	d.op("BLT", "eight")
	d.mixColumns("16", 4)
	d.op("JMP", "columns")
	d.label("eight")
	d.op("ADD", "$16", "R11")
	d.op("CBZ", "R11", "mixed")
	d.mixColumns("8", 2)
	d.label("mixed")
}

// mixColumns mixes that many vectors of columns of each head. Sums of probabilities are in the
// last registers.
//
//	R4 score   R5 the same unrounded   R2 keys left   R6 out   R7 sums   R20..R23 values
func (d neonDecoder) mixColumns(name string, vectors int) {
	values, sum := []string{"R20", "R21", "R22", "R23"}, func(h int) string { return neon.r(26 + h) }
	d.zero(0, vectors*d.heads)
	d.zero(26, d.heads)
	d.fields("decodeCall", "R19", "scores R4", "unrounded R5", "n R2", "sums R7")
	d.op("MOVD", "R3", "R20")
	d.apart(values, "R8")
	plain, differ := "mix"+name+"_key", "rounded"+name+"_key"
	d.op("CBZ", "R5", plain)
	d.op("ADD", "R4", "R5")
	d.overProbs(differ, plain, "divide"+name, "R2", []string{"R4", "R5"}, func(probs []string) {
		for h := range d.heads {
			x := d.multiply(h, vectors, values[h], indexed("R4", "R9", h))
			if len(probs) > 1 {
				x = neon.r(30)
				d.op("FMOVS", indexed(probs[1], "R9", h), f(x))
			}
			d.op("FADDS", f(x), f(sum(h)), f(sum(h)))
			d.op("ADD", "R10", values[h])
		}
		d.advance(4, probs...)
	})
	d.op("MOVD", "R1", "R6")
	for h := range d.heads {
		d.op("FMOVS", f(sum(h)), fmt.Sprintf("%d(R7)", 4*h))
		d.op("VDUP", sum(h)+".S[0]", sum(h)+".S4")
		for i := range vectors {
			r := neon.r(h*vectors + i)
			d.word("FDIV", r, r, sum(h))
		}
		d.save(h, vectors, "R6")
		d.op("ADD", "R8", "R6")
	}
	d.advance(16*vectors, "R3", "R1")
}
