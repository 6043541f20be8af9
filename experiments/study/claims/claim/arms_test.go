package claim

import "driftlab/experiments/study/judge"

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

// Reference: two batches of 64 responses of 2 and 3 tokens on average have 128 and 192 tokens,
// of which a quarter and an eighth are 32 and 24.
func TestCountTokens(t *testing.T) {
	o := new(Observation)
	name := AtLR("arm", "1e-3")
	o.Set(ArmColumn(name, lengthColumn), 2, 3)
	o.Set(ArmColumn(name, "share"), 0.25, 0.125)
	j := &Judge{Seeds: []uint64{1}, Runs: []*Observation{o}}
	for share, want := range map[string]float64{"": 320, "share": 56} {
		if got := j.countTokens([]string{"1e-3"}, "arm", share); got[0] != want {
			t.Errorf("%q: %v tokens, want %v", share, got[0], want)
		}
	}
}

// TestPrimaryOnce: a level has one primary check.
func TestPrimaryOnce(t *testing.T) {
	var j Judge
	j.Primary(judge.Check{Level: judge.Natural})
	j.Primary(judge.Check{Level: judge.Amplified})
	defer func() {
		if recover() == nil {
			t.Error("a second primary check at the same level is taken")
		}
	}()
	j.Primary(judge.Check{Level: judge.Natural})
}
