package lesson

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"driftlab/results/figure"
	"driftlab/results/lab"
)

// TestRecorders: each recording can be made, small, has a figure for each value it is shown
// with, and is the same when it is made again.
func TestRecorders(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	for name, record := range recorders {
		var texts [2]string
		for i := range texts {
			panels, err := record(context.Background(), Options{Workers: runtime.NumCPU, Dir: t.TempDir(), Tiny: true})
			if err != nil {
				t.Fatal(name, err)
			}
			if len(panels) < 4 || slices.ContainsFunc(panels, func(p figure.Figure) bool { return len(p.When) == 0 && p.Kind != figure.Bars || p.Note == "" }) {
				t.Errorf("%s: %d panels, or one without controls or words", name, len(panels))
			}
			text, err := lab.Recording(panels)
			if err != nil {
				t.Fatal(name, err)
			}
			texts[i] = string(text)
		}
		if texts[0] != texts[1] {
			t.Errorf("%s differs when it is made again", name)
		}
	}
}
