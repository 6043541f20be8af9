package main

// sumExps writes the routine of the softmax of as many rows as a register has lanes, with a
// lane for each: maxima times the scale, and in-order sums of the exponentials. The number of
// columns is a multiple of four, which are taken side by side; each has sixteen rows in memory.
//
//	SI column   AX first column   CX columns left
func sumExps(t *text, isa isa, consts map[string]uint32) {
	routineText(t, isa, "sumExps"+isa.name, sumExpsSignature(isa), 36, consts, func(v *vec) {
		v.op("MOVQ", "columns+16(FP)", "AX")
		columns := fourVectors("SI")
		over := func(name string, body func()) {
			v.op("MOVQ", "AX", "SI")
			v.op("MOVQ", "n+24(FP)", "CX")
			v.label(name)
			body()
			v.op("ADDQ", "$256", "SI")
			v.op("SUBQ", "$4", "CX")
			v.op("JNZ", name)
		}
		m := v.new()
		v.set(m, v.bits(infinityBits|signMask))
		over("max", func() {
			for _, column := range columns {
				v.op("VMAXPS", column, m, m)
			}
		})
		scale := v.broadcast("scale+32(FP)")
		v.scaleMaxima(m, scale)
		sum := v.new()
		v.into(xorBits, sum, sum, sum)
		v.op("MOVQ", "maxima+8(FP)", "DX")
		v.move(m, "(DX)", false)
		over("exp", func() {
			for _, e := range v.softExps(scale, columns, []string{m}) {
				v.add(sum, e)
				v.drop(e)
			}
		})
		v.op("MOVQ", "sums+0(FP)", "DX")
		v.move(sum, "(DX)", false)
		v.drop(m, scale, sum)
	})
}

func sumExpsSignature(v isa) string {
	return "sumExps" + v.name + "(sums, maxima, columns *float32, n int, scale float32)"
}
