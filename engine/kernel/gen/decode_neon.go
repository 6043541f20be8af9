package main

import "fmt"

// decodeHeadsNEON is decodeHeads of arm64, which asks for nothing in advance.
//
//	R19 call
func decodeHeadsNEON(t *text, heads int) {
	name := fmt.Sprintf("decodeHeadsNEONx%d", heads)
	fmt.Fprintf(t, "\n// func %s(call *decodeCall)\nTEXT ·%s(SB), NOSPLIT, $0-8\n", name, name)
	t.op("MOVD", "call+0(FP)", "R19")
	d := neonDecoder{t, heads}
	d.score()
	// The registers of constants are free before the exponentials, and behind them.
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

// fields loads fields of the call to registers, given one behind the other.
func (d neonDecoder) fields(list ...string) {
	for i := 0; i < len(list); i += 2 {
		d.op("MOVD", "decodeCall_"+list[i]+"(R19)", list[i+1])
	}
}

// apart sets the pointers of all heads, the first of which is there, so many bytes apart.
func (d neonDecoder) apart(pointers []string, bytes string) {
	for h := 1; h < d.heads; h++ {
		d.op("ADD", bytes, pointers[h-1], pointers[h])
	}
}

// zero clears registers.
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
	d.fields("q", "R1", "scores", "R4", "keys", "R20", "headDim", "R8", "ld", "R9", "panelStride", "R17", "n", "R16")
	d.op("LSL", "$6", "R8", "R13")
	d.op("LSL", "$2", "R8")
	d.op("ADD", "R8", "R8", "R12")
	d.op("ADD", "R12", "R8", "R14")
	d.op("SUB", "R13", "R17")
	d.op("ADD", "$15", "R16")
	d.op("LSR", "$4", "R16")
	d.apart(keys, "R13")
	d.label("panel")
	d.zero(0, 4*d.heads)
	d.op("MOVD", "R1", "R6")
	d.op("LSR", "$2", "R8", "R2")
	d.label("score_column")
	for h := range d.heads {
		d.multiply(h, 4, keys[h], indexed("R6", "R8", h))
		d.op("ADD", "$64", keys[h])
	}
	d.op("ADD", "$4", "R6")
	d.op("SUBS", "$1", "R2")
	d.op("BNE", "score_column")
	d.op("MOVD", "R4", "R7")
	for h := range d.heads {
		d.save(h, 4, "R7")
		d.op("ADD", "R9", "R7")
		d.op("ADD", "R17", keys[h])
	}
	d.op("ADD", "$64", "R4")
	d.op("SUBS", "$1", "R16")
	d.op("BNE", "panel")
}

// multiply adds to a head's sums, so many registers of them, the vectors at an address times a
// number at another. Two sets of five registers behind all sums take turns.
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

// save writes a head's sums.
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
	for _, r := range [][2]string{{"scores", "SI"}, {"unrounded", "DI"}, {"maxima", "R7"}, {"n", "R10"}, {"ld", "R9"}} {
		v.op("MOVQ", "decodeCall_"+r[0]+"(R19)", r[1])
	}
	v.op("ADDQ", "SI", "DI")
	v.op("MOVQ", fmt.Sprintf("$%d", heads), "R16")
	scale, m := v.broadcast("decodeCall_scale(R19)"), v.new()
	v.address["x"] = "AX"
	v.label("row")
	v.maxStart(m, "")
	v.overRow("max", func() { v.maxStep("x", m, "") })
	v.maxEnd(m, "")
	v.scaleFirst(m, scale)
	v.storeFirst(m, "(R7)")
	v.spread(m)
	v.op("MOVQ", "SI", "AX")
	v.op("MOVQ", "DI", "R6")
	v.op("MOVQ", "R10", "CX")
	v.label("exp")
	p := v.softExps(scale, []string{"(AX)", "16(AX)"}, []string{m})
	v.storeProbs(p, []string{"(AX)", "16(AX)"}, []string{"(R6)", "16(R6)"}, "kept")
	v.drop(p...)
	v.op("ADDQ", "$32", "AX")
	v.op("ADDQ", "$32", "R6")
	v.op("SUBQ", "$8", "CX")
	v.op("BGT", "exp")
	v.op("ADDQ", "R9", "SI")
	v.op("ADDQ", "R9", "DI")
	v.op("ADDQ", "$4", "R7")
	v.op("DECQ", "R16")
	v.op("JNZ", "row")
	v.drop(scale, m)
}

// mix adds up the probabilities and the values that they weigh, sixteen columns of every head at
// a time and then eight.
//
//	R1 out   R3 values   R8 from head to head of both   R9 of scores   R12, R14 two and three
//	times R9   R10 from key to key   R11 columns left
func (d neonDecoder) mix() {
	d.fields("out", "R1", "values", "R3", "headDim", "R8", "ld", "R9", "valueStride", "R10", "headDim", "R11")
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

// mixColumns mixes so many vectors of columns of each head. Sums of probabilities are in the
// last registers.
//
//	R4 score   R5 the same unrounded   R2 keys left   R6 out   R7 sums   R20..R23 values
func (d neonDecoder) mixColumns(name string, vectors int) {
	values, sum := []string{"R20", "R21", "R22", "R23"}, func(h int) string { return neon.r(26 + h) }
	d.zero(0, vectors*d.heads)
	d.zero(26, d.heads)
	d.fields("scores", "R4", "unrounded", "R5", "n", "R2", "sums", "R7")
	d.op("MOVD", "R3", "R20")
	d.apart(values, "R8")
	plain, differ := "mix"+name+"_key", "rounded"+name+"_key"
	d.op("CBZ", "R5", plain)
	d.op("ADD", "R4", "R5")
	overKeys := func(name string, rounded bool) {
		d.label(name)
		for h := range d.heads {
			x := d.multiply(h, vectors, values[h], indexed("R4", "R9", h))
			if rounded {
				x = neon.r(30)
				d.op("FMOVS", indexed("R5", "R9", h), f(x))
			}
			d.op("FADDS", f(x), f(sum(h)), f(sum(h)))
			d.op("ADD", "R10", values[h])
		}
		d.op("ADD", "$4", "R4")
		if rounded {
			d.op("ADD", "$4", "R5")
		}
		d.op("SUBS", "$1", "R2")
		d.op("BNE", name)
	}
	overKeys(differ, true)
	d.op("JMP", "divide"+name)
	overKeys(plain, false)
	d.label("divide" + name)
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
	d.op("ADD", fmt.Sprintf("$%d", 16*vectors), "R3")
	d.op("ADD", fmt.Sprintf("$%d", 16*vectors), "R1")
}
