package main

import "fmt"

// How arm64 spells what vec offers.

// moveNEON moves a vector, or of the rest one element: loaded into every lane,
// stored from the first.
func (v *vec) moveNEON(from, to string, load bool) {
	switch {
	case !load && v.masked:
		v.op("FMOVS", f(from), to)
	case !load:
		v.op("FMOVQ", f(from), to)
	case v.masked:
		v.op("VLD1R", from, "["+to+".S4]")
	default:
		v.op("FMOVQ", from, f(to))
	}
}

// preloadNEON reads a routine's constants from its table, two at a time.
func (v *vec) preloadNEON(name string, consts []uint32) {
	if len(consts) == 0 {
		return
	}
	v.op("MOVD", "$"+name+"Constants<>(SB)", "R15")
	for i, b := range consts {
		r := v.residentBits(b)
		switch {
		case i%2 == 1:
			v.op("FLDPQ", fmt.Sprintf("%d(R15)", 16*(i-1)), fmt.Sprintf("(%s, %s)", f(v.resident[consts[i-1]]), f(r)))
		case i == len(consts)-1:
			v.op("FMOVQ", fmt.Sprintf("%d(R15)", 16*i), f(r))
		}
	}
}

// table writes the constants that preload reads.
func (v *vec) table(name string) {
	if v.v != neon || len(v.order) == 0 {
		return
	}
	fmt.Fprintln(v)
	for i, b := range v.order {
		for off := 0; off < 16; off += 8 {
			fmt.Fprintf(v, "DATA %sConstants<>+%d(SB)/8, $0x%08x%08x\n", name, 16*i+off, b, b)
		}
	}
	fmt.Fprintf(v, "GLOBL %sConstants<>(SB), RODATA|NOPTR, $%d\n", name, 16*len(v.order))
}
