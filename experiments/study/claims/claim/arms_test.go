package claim

import (
	"testing"

	"driftlab/experiments/study/judge"
	"driftlab/precision/must"
)

// TestArmFunctions: the evaluation of the first update counts for nothing in the rollout engine, and a run that ended early passes none.
// Two batches of 64 responses of 2 and 3 tokens on average have 128 and 192 tokens, of which a quarter and an eighth are 32 and 24.
func TestArmFunctions(t *testing.T) {
	o := new(Observation)
	for name, x := range map[string][]float64{
		"whole at lr 1": {1, 1, 1, 1, 1, 1}, "whole at lr 1, val/rollout/pass_rate": {1, 0, 0, 0, 0.25, 0.5, 0.75},
		"ended at lr 1": {1, 1, 0, 0, 0, 0}, "ended at lr 1, val/rollout/pass_rate": {1, 1, 1},
		"arm at lr 1, response_length/mean": {2, 3}, "arm at lr 1, share": {0.25, 0.125}, "arm at lr 1, seven": {1, 2, 3, 4, 5, 6, 8},
	} {
		o.Set(name, x...)
	}
	s := scope{j: &Judge{Seeds: []uint64{1}, Runs: []*Observation{o}}, lib: new(Library), rates: []string{"1"}}
	for text, want := range map[string]float64{
		`sampled("whole")`: 0.5, `sampled("ended")`: 0, `late("ended")`: 0, `generated("arm")`: 320, `tokens("arm", "share")`: 56,
		`first("arm", "seven")`: 1.5, `last("arm", "seven")`: 7, `last("arm", "share")`: 0.125, `average("arm", "share")`: 0.1875,
	} {
		if got := s.evaluate(text)[0]; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestPrimaryOnce: a level has one primary check.
func TestPrimaryOnce(t *testing.T) {
	var j Judge
	j.Primary(judge.Check{Level: judge.Natural})
	j.Primary(judge.Check{Level: judge.Amplified})
	must.Panic(t, "a second primary check at the same level is taken", func() { j.Primary(judge.Check{Level: judge.Natural}) })
}
