package main

import "testing"

// The largest tile of arm64, counted by hand: two pairs of B, six of A, 24
// multiply-adds, three instructions of the loop and its branch.
func TestCountOfTheLargestTile(t *testing.T) {
	names, loops := loopsOf(neonTileFile())
	if names[0] != "fusedNEONx6x1" {
		t.Fatalf("the first tile is %s", names[0])
	}
	got, want := loops[names[0]], loop{instructions: 36, vectors: 24, fmas: 24, loads: 10, chained: true}
	if got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	for _, c := range []struct {
		routine string
		core    core
		cycles  float64
		bound   string
	}{
		{"fusedNEONx6x1", cores[0], 6, "vectors"}, {"fusedNEONx2x1", cores[0], 4, "latency"},
		{"fusedNEONx1x4", cores[1], 8.5, "loads"}, {"fusedNEONNarrowx8x4", cores[1], 21. / 4, "issue"},
	} {
		if cycles, bound := loops[c.routine].cycles(c.core); cycles != c.cycles || bound != c.bound {
			t.Errorf("%s on %s: %g cycles, bound by %s; want %g, %s", c.routine, c.core.name, cycles, bound, c.cycles, c.bound)
		}
	}
	if n := len(names); n != 2*(len(shapes256)+len(shapesNarrow)+len(shapesBanded)) {
		t.Errorf("%d tiles have a loop", n)
	}
}
