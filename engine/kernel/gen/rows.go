package main

// rotateHeads writes the routine that turns the pairs of a row's heads by the same
// angles: one call where there would be one for each head.
//
//	SI head   R8 bytes of half of one   R9 heads left   R10 pairs of one   R11, R12 cosines, sines
//	AX, BX, DX, DI, CX the halves, cosines, sines, pairs left
func rotateHeads(t *text, isa isa) {
	name := "rotateHeads" + isa.name
	routineText(t, isa, name, name+"(x, cos, sin *float32, heads, half int, flip uint32)", 44, nil, func(v *vec) {
		v.address = map[string]string{"x1": "AX", "x2": "BX", "cos": "DX", "sin": "DI"}
		for i, name := range []string{"x+0", "cos+8", "sin+16", "heads+24", "half+32", "half+32"} {
			v.op("MOVQ", name+"(FP)", []string{"SI", "R11", "R12", "R9", "R10", "R8"}[i])
		}
		v.op("SHLQ", "$2", "R8")
		v.numbers["flip"] = v.broadcast("flip+40(FP)")
		v.takeMask()
		v.label("head")
		for i, from := range []string{"SI", "SI", "R11", "R12", "R10"} {
			v.op("MOVQ", from, []string{"AX", "BX", "DX", "DI", "CX"}[i])
		}
		v.op("ADDQ", "R8", "BX")
		v.overLanes("pair_", []string{"AX", "BX", "DX", "DI"}, func() { rotatePair(v) })
		v.op("ADDQ", "R8", "SI")
		v.op("ADDQ", "R8", "SI")
		v.op("DECQ", "R9")
		v.op("JNZ", "head")
	})
}
