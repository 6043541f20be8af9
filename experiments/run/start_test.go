package run

import (
	"slices"
	"strings"
	"testing"

	"driftlab/results/record"
)

// TestStart finds the evaluation before the first update on record once, with
// nothing but evaluations in it, and moves no other figure: evaluations draw
// from streams of their own.
func TestStart(t *testing.T) {
	for i, v := range variants {
		if i%3 != 0 && !*exhaustive {
			continue
		}
		t.Run(v.name, func(t *testing.T) {
			r := v.make(t)
			made, left := whole(t, v)
			with := made.Record
			head, _, _ := strings.Cut(left[record.MetricsFile], "\n")
			if !strings.HasPrefix(head, `{"step":0,"val/learner/pass_rate":`) || strings.Count(head, `,"`) != strings.Count(head, `,"val/`) {
				t.Errorf("the record begins with %s", head)
			}
			if c := with.Column("val/weight_travel"); c.Step[0] != 0 || c.Step[1] != 1 || c.Value[0] != 0 {
				t.Errorf("weights travelled %v by steps %v", c.Value, c.Step)
			}
			if with.Steps != r.Steps {
				t.Errorf("%d steps on record, want %d", with.Steps, r.Steps)
			}
			r.Eval.Every = 0
			without := mustRun(t, r, Options{}).Record
			for _, c := range with.Columns {
				if strings.HasPrefix(c.Name, "val/") {
					continue
				}
				if other := without.Column(c.Name); other == nil || !slices.Equal(other.Step, c.Step) || !sameValues(other.Value, c.Value) {
					t.Errorf("%s moves when the run is evaluated", c.Name)
				}
			}
		})
	}
}

// sameValues compares two columns; NaN equals itself.
func sameValues(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return x == y || x != x && y != y })
}
