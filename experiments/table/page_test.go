package table_test

import (
	"fmt"
	"slices"
	"testing"

	"driftlab/experiments/sweep"
	"driftlab/experiments/table"
	"driftlab/results/figure"
)

// Five doses of one stressor and five of another are two pictures of the page, four and
// four are one.
func TestPanels(t *testing.T) {
	for doses, want := range map[int][]int{5: {5, 5}, 4: {8}, 9: {9, 9}} {
		runs := []sweep.Outcome{ran("none", "matched", "", 1, "A", .5, .8)}
		for i := range 2 * doses {
			o := ran("none", fmt.Sprint("stressor", i), "matched", 1, "B", .5, .7)
			o.Values["letter"] = string("AB"[i/doses])
			runs = append(runs, o)
		}
		var got []int
		for _, block := range table.Measure([]table.Stage{*stage(runs...)}).Report().Sections[0].Blocks {
			if f, ok := block.(*figure.Figure); ok && f.Kind == figure.Heat {
				got = append(got, len(f.Labels))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("twice %d doses are pictures of %v columns, want %v", doses, got, want)
		}
	}
}
