package main

import "fmt"

// tileStubs is the Go file that declares the routines and lists them by shape.
func tileStubs() string {
	var t text
	t.WriteString(generated + "\npackage kernel\n")
	for _, v := range []isa{avx512, avx2} {
		full, masked := shapes(v)
		tileSet(&t, "tile"+v.name, full, func(s shape, unfused bool) string { return tileName(v, s, unfused, false, false) })
		tileSet(&t, "tile"+v.name+"Masked", masked, func(s shape, unfused bool) string { return tileName(v, s, unfused, true, false) })
		tileSet(&t, "tile"+v.name+"Banded", shapesBanded, func(s shape, unfused bool) string { return tileName(v, s, unfused, true, true) })
	}
	return t.String()
}

// neonTileStubs is tileStubs for arm64.
func neonTileStubs() string {
	var t text
	t.WriteString(generated + "\npackage kernel\n")
	set := func(name string, shapes []shape, kind tileKind) {
		tileSet(&t, name, shapes, func(s shape, unfused bool) string {
			kind.unfused = unfused
			return kind.name(s)
		})
	}
	set("tileNEON", shapes256, tileKind{})
	set("tileNEONNarrow", shapesNarrow, tileKind{narrow: true})
	set("tileNEONBanded", shapesBanded, tileKind{banded: true})
	return t.String()
}

// tileSet writes the declarations and the table of a set. A call through the table
// lets its argument escape anyway, so that none is declared not to.
func tileSet(t *text, name string, shapes []shape, routine func(s shape, unfused bool) string) {
	fmt.Fprintf(t, "\nvar %s = tileSet{\n", name)
	for _, s := range shapes {
		fmt.Fprintf(t, "\t%d<<4 | %d: {%s, %s},\n", s.rows, s.groups, routine(s, false), routine(s, true))
	}
	t.WriteString("}\n\n")
	for _, s := range shapes {
		fmt.Fprintf(t, "func %s(call *tileCall)\nfunc %s(call *tileCall)\n", routine(s, false), routine(s, true))
	}
}
