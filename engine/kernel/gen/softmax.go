package main

import "fmt"

// sumExps writes the routine of the softmax of as many rows as a register has lanes, with a
// lane for each: maxima times the scale, and in-order sums of the exponentials. The number of
// columns is a multiple of four, which are taken side by side; each has sixteen rows in memory.
//
//	SI column   AX first column   CX columns left
func sumExps(t *text, isa isa, consts map[string]uint32) {
	routineText(t, isa, "sumExps"+isa.name, sumExpsSignature(isa), 36, consts, func(v *vec) {
		v.op("MOVQ", "columns+16(FP)", "AX")
		over := func(name string, body func(at func(column int) string)) {
			v.op("MOVQ", "AX", "SI")
			v.op("MOVQ", "n+24(FP)", "CX")
			v.label(name)
			body(func(column int) string { return fmt.Sprintf("%d(SI)", 64*column) })
			v.op("ADDQ", "$256", "SI")
			v.op("SUBQ", "$4", "CX")
			v.op("JNZ", name)
		}
		m := v.new()
		v.set(m, v.bits(infinityBits|signMask))
		over("max", func(at func(column int) string) {
			for column := range 4 {
				v.op("VMAXPS", at(column), m, m)
			}
		})
		scale, sum := v.broadcast("scale+32(FP)"), v.new()
		v.into(xorBits, sum, sum, sum)
		v.add(m, sum) // a zero as +0
		v.mul(m, scale)
		v.op("MOVQ", "maxima+8(FP)", "DX")
		v.move(m, "(DX)", false)
		over("exp", func(at func(column int) string) {
			var x []string
			for column := range 4 {
				x = append(x, v.new())
				v.move(at(column), x[column], true)
				v.mul(x[column], scale)
				v.sub(x[column], m)
			}
			e := v.expsBelow(x...)
			for _, e := range e {
				v.add(sum, e)
			}
			v.drop(e...)
		})
		v.op("MOVQ", "sums+0(FP)", "DX")
		v.move(sum, "(DX)", false)
		v.drop(m, scale, sum)
	})
}

func sumExpsSignature(v isa) string {
	return "sumExps" + v.name + "(sums, maxima, columns *float32, n int, scale float32)"
}
