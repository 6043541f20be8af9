package main

import "fmt"

// tileStubs is the Go file that declares the routines and chooses among them.
func tileStubs() string {
	var t text
	t.WriteString(generated + "\npackage kernel\n")
	set := func(name string, v isa, shapes []shape, masked, banded bool) {
		for _, s := range shapes {
			for _, unfused := range []bool{false, true} {
				fmt.Fprintf(&t, "\n//go:noescape\nfunc %s(call *tileCall)\n", tileName(v, s, unfused, masked, banded))
			}
		}
		dispatch(&t, name, shapes, masked, func(s shape, unfused bool) string { return tileName(v, s, unfused, masked, banded) })
	}
	set("tile512", avx512, shapes512, false, false)
	set("tile512Banded", avx512, shapesBanded, true, true)
	set("tile256", avx2, shapes256, false, false)
	set("tile256Masked", avx2, shapesMasked, true, false)
	set("tile256Banded", avx2, shapesBanded, true, true)
	return t.String()
}

// neonTileStubs is tileStubs for arm64.
func neonTileStubs() string {
	var t text
	t.WriteString(generated + "\npackage kernel\n")
	neonTiles(func(s shape, k tileKind) { fmt.Fprintf(&t, "\n//go:noescape\nfunc %s(call *tileCall)\n", k.name(s)) })
	for _, set := range []struct {
		name   string
		shapes []shape
		kind   tileKind
	}{{"tileNEON", shapes256, tileKind{}}, {"tileNEONNarrow", shapesNarrow, tileKind{narrow: true}}, {"tileNEONBanded", shapesBanded, tileKind{banded: true}}} {
		dispatch(&t, set.name, set.shapes, set.kind.banded, func(s shape, unfused bool) string {
			set.kind.unfused = unfused
			return set.kind.name(s)
		})
	}
	return t.String()
}

// dispatch writes a function that calls the routine of a shape.
func dispatch(t *text, name string, shapes []shape, oneGroup bool, routine func(s shape, unfused bool) string) {
	params, key := "rows, groups int", "rows<<4 | groups"
	if oneGroup {
		params, key = "rows int", "rows"
	}
	fmt.Fprintf(t, "\n// %s runs the routine of a shape; there must be one.\nfunc %s(call *tileCall, %s, unfused bool) {\n", name, name, params)
	for _, unfused := range []bool{true, false} {
		if unfused {
			t.WriteString("\tif unfused {\n")
		}
		fmt.Fprintf(t, "\tswitch %s {\n", key)
		for _, s := range shapes {
			value := fmt.Sprintf("%d<<4 | %d", s.rows, s.groups)
			if oneGroup {
				value = fmt.Sprint(s.rows)
			}
			fmt.Fprintf(t, "\tcase %s:\n\t\t%s(call)\n", value, routine(s, unfused))
		}
		t.WriteString("\tdefault:\n\t\tpanic(\"kernel: no such tile\")\n\t}\n")
		if unfused {
			t.WriteString("\treturn\n\t}\n")
		}
	}
	t.WriteString("}\n")
}
