package dynamic

import (
	"math"
	"testing"

	"driftlab/experiments/claims/claim"
)

func TestTravelled(t *testing.T) {
	if got := travelled([]float32{3, 4}, []float32{3, 4.5}); math.Abs(got-0.1) > 1e-12 {
		t.Errorf("a change of 0.5 in weights of length 5 is %v", got)
	}
}

// TestLateSampled: the evaluation of the first update counts for nothing, and a
// run that ended early passes none.
func TestLateSampled(t *testing.T) {
	o := new(claim.Observation)
	o.Set("whole", 1, 1, 1, 1, 1, 1)
	o.Set(claim.Beside("whole", sampledRate), 1, 0, 0, 0, 0.25, 0.5, 0.75)
	o.Set("ended", 1, 1, 0, 0, 0, 0)
	o.Set(claim.Beside("ended", sampledRate), 1, 1, 1)
	if got := lateSampled(o, "whole"); got != 0.5 {
		t.Errorf("late pass rate %v, want that of the last three of six", got)
	}
	if got := lateSampled(o, "ended"); got != 0 {
		t.Errorf("a run that ended early passes %v", got)
	}
}
