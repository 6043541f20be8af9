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

// rotateEights writes the routine that turns heads of eight, four pairs, each in a register: its
// halves change places for the products with the sines, of which the first half is negative.
//
//	SI head   AX heads left
func rotateEights(t *text, consts map[string]uint32) {
	const name = "rotateEights256"
	routineText(t, avx2, name, name+"(x, cos, sin *float32, heads int, flip uint32)", 36, consts, func(v *vec) {
		for i, name := range []string{"x+0", "cos+8", "sin+16", "heads+24"} {
			v.op("MOVQ", name+"(FP)", []string{"SI", "BX", "DX", "AX"}[i])
		}
		cos, sin, negative, x, swapped := v.new(), v.new(), v.new(), v.new(), v.new()
		v.op("VBROADCASTF128", "(BX)", cos)
		v.op("VBROADCASTF128", "(DX)", sin)
		v.op("VBROADCASTSS", "flip+32(FP)", negative)
		v.xor(sin, negative)
		v.into(xorBits, negative, sin, v.bits(signMask))
		v.op("VBLENDPS", "$0x0f", negative, sin, sin)
		v.label("head")
		v.move("(SI)", x, true)
		v.op("VPERM2F128", "$1", x, x, swapped)
		v.mul(x, cos)
		v.mul(swapped, sin)
		v.add(x, swapped)
		v.move(x, "(SI)", false)
		v.op("ADDQ", "$32", "SI")
		v.op("DECQ", "AX")
		v.op("JNZ", "head")
	})
}
