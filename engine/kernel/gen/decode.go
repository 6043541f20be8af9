package main

import "fmt"

// decodeHeadCounts are how many heads of one query a routine attends: four side by side
// hide the latency of their sums.
var decodeHeadCounts = []int{4, 1}

// decodeHeads writes the routine that attends some heads of one query, each to the keys and
// values of its own head: scores, their exponentials, and the mix divided by their sum. The
// width of a head is a multiple of sixteen.
//
// The scores, head by head:
//
//	SI scores   DI maximum   BX q   DX keys   R8 from head to head of the keys   R9 of the scores
//	R10 keys left   R11 bytes of a panel   R12 heads left   AX score   CX panels left
//	R13 panel   R14 elements of q left   R15 element of q
func decodeHeads(t *text, isa isa, consts map[string]uint32, heads int) {
	name := fmt.Sprintf("decodeHeads%sx%d", isa.name, heads)
	routineText(t, isa, name, name+"(call *decodeCall)", 8, consts, func(v *vec) {
		v.address["x"] = "AX"
		v.op("MOVQ", "call+0(FP)", "CX")
		for _, r := range [][2]string{{"scores", "SI"}, {"maxima", "DI"}, {"q", "BX"}, {"keys", "DX"}, {"plane", "R8"}, {"ld", "R9"}, {"n", "R10"}, {"headDim", "R11"}} {
			v.op("MOVQ", "decodeCall_"+r[0]+"(CX)", r[1])
		}
		v.op("SHLQ", "$6", "R11")
		v.op("MOVQ", fmt.Sprintf("$%d", heads), "R12")
		scale := v.broadcast("decodeCall_scale(CX)")
		v.takeMask()
		m, nan := v.maxRegisters()
		v.label("head")
		v.scorePanels()
		v.softRow(scale, m, nan)
		v.op("MOVQ", "R11", "R14")
		v.op("SHRQ", "$4", "R14")
		for _, step := range [][2]string{{"R14", "BX"}, {"R8", "DX"}, {"R9", "SI"}, {"$4", "DI"}} {
			v.op("ADDQ", step[0], step[1])
		}
		v.op("DECQ", "R12")
		v.op("JNZ", "head")
		v.drop(scale, m, nan)
		v.mixHeads(heads)
	})
}

// scorePanels multiplies q by the panels of its head's keys, two at a time.
func (v *vec) scorePanels() {
	per := 16 / v.v.lanes() // registers of a panel
	panels := func(count int) {
		var sums []string
		for range count * per {
			r := v.new()
			v.into(xorBits, r, r, r)
			sums = append(sums, r)
		}
		loop := fmt.Sprintf("keys%d", count)
		v.op("MOVQ", "R11", "R14")
		v.op("SHRQ", "$6", "R14")
		v.op("MOVQ", "BX", "R15")
		v.label(loop)
		x := v.broadcast("(R15)")
		for i, sum := range sums {
			v.fma(sum, fmt.Sprintf("%d(R13)%s", i%per*v.v.bytes, []string{"", "(R11*1)"}[i/per]), x)
		}
		v.drop(x)
		v.op("ADDQ", "$4", "R15")
		v.op("ADDQ", "$64", "R13")
		v.op("DECQ", "R14")
		v.op("JNZ", loop)
		for i, sum := range sums {
			v.move(sum, fmt.Sprintf("%d(AX)", i*v.v.bytes), false)
		}
		v.drop(sums...)
		v.op("ADDQ", fmt.Sprintf("$%d", 64*count), "AX")
	}
	v.op("MOVQ", "SI", "AX")
	v.op("MOVQ", "DX", "R13")
	v.op("LEAQ", "15(R10)", "CX")
	v.op("SHRQ", "$4", "CX")
	v.op("SUBQ", "$2", "CX")
	v.op("JLT", "single")
	v.label("pair")
	panels(2)
	v.op("ADDQ", "R11", "R13")
	v.op("SUBQ", "$2", "CX")
	v.op("JGE", "pair")
	v.label("single")
	v.op("ADDQ", "$2", "CX")
	v.op("JEQ", "scored")
	panels(1)
	v.label("scored")
}

// mixHeads adds up the probabilities and the values that they weigh, key by key, sixteen
// columns of every head at a time.
//
//	AX scores   DX values   BX out   R8 from key to key, and from head to head of out
//	R9 from head to head of the scores   R10 of the values   R12, R13, R14 three times R9, R10, R8
//	SI score   DI value   CX keys left   R11 columns left
func (v *vec) mixHeads(heads int) {
	per := 16 / v.v.lanes()
	v.op("MOVQ", "call+0(FP)", "CX")
	for _, r := range [][2]string{{"scores", "AX"}, {"values", "DX"}, {"out", "BX"}, {"headDim", "R8"}, {"ld", "R9"}, {"plane", "R10"}, {"headDim", "R11"}} {
		v.op("MOVQ", "decodeCall_"+r[0]+"(CX)", r[1])
	}
	v.op("SHLQ", "$2", "R8")
	for _, triple := range [][2]string{{"R9", "R12"}, {"R10", "R13"}, {"R8", "R14"}} {
		v.op("LEAQ", fmt.Sprintf("(%s)(%s*2)", triple[0], triple[0]), triple[1])
	}
	at := func(base, stride, triple string, head, offset int) string {
		return fmt.Sprintf("%d(%s)%s", offset, base, []string{"", "(" + stride + "*1)", "(" + stride + "*2)", "(" + triple + "*1)"}[head])
	}
	var sums, mix []string
	for range heads {
		sums = append(sums, v.new())
	}
	for range heads * per {
		mix = append(mix, v.new())
	}
	v.label("columns")
	v.op("MOVQ", "call+0(FP)", "CX")
	v.op("MOVQ", "decodeCall_n(CX)", "CX")
	v.op("MOVQ", "AX", "SI")
	v.op("MOVQ", "DX", "DI")
	for _, r := range append(append([]string{}, sums...), mix...) {
		v.into(xorBits, r, r, r)
	}
	v.label("key")
	for h := range heads {
		p := v.broadcast(at("SI", "R9", "R12", h, 0))
		v.op("VADDSS", half(p), half(sums[h]), half(sums[h]))
		for i := range per {
			v.fma(mix[h*per+i], at("DI", "R10", "R13", h, i*v.v.bytes), p)
		}
		v.drop(p)
	}
	v.op("ADDQ", "$4", "SI")
	v.op("ADDQ", "R8", "DI")
	v.op("DECQ", "CX")
	v.op("JNZ", "key")
	v.op("MOVQ", "call+0(FP)", "CX")
	v.op("MOVQ", "decodeCall_sums(CX)", "CX")
	for h := range heads {
		v.storeFirst(sums[h], fmt.Sprintf("%d(CX)", 4*h))
		v.spread(sums[h])
		for i := range per {
			v.move(v.div(mix[h*per+i], sums[h]), at("BX", "R8", "R14", h, i*v.v.bytes), false)
		}
	}
	v.op("ADDQ", "$64", "DX")
	v.op("ADDQ", "$64", "BX")
	v.op("SUBQ", "$16", "R11")
	v.op("JNZ", "columns")
}
