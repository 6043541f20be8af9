package claim

import "testing"

// TestLateSampled: the evaluation of the first update counts for nothing, and a
// run that ended early passes none.
func TestLateSampled(t *testing.T) {
	o := new(Observation)
	o.Set("whole", 1, 1, 1, 1, 1, 1)
	o.Set(ArmColumn("whole", sampledRate), 1, 0, 0, 0, 0.25, 0.5, 0.75)
	o.Set("ended", 1, 1, 0, 0, 0, 0)
	o.Set(ArmColumn("ended", sampledRate), 1, 1, 1)
	if got := lateSampled(o, "whole"); got != 0.5 {
		t.Errorf("late pass rate %v, want that of the last three of six", got)
	}
	if got := lateSampled(o, "ended"); got != 0 {
		t.Errorf("a run that ended early passes %v", got)
	}
}
