package dynamic

import (
	"testing"

	"driftlab/experiments/claims/claim"
)

// TestSurgeLeads: a run that falls at once after its responses have grown, one
// whose responses never grow, and a run that holds though they grow.
func TestSurgeLeads(t *testing.T) {
	step := func(at int, before, after float64) (x []float64) {
		for k := range 100 {
			if k < at {
				x = append(x, before)
			} else {
				x = append(x, after)
			}
		}
		return x
	}
	o := new(claim.Observation)
	set := func(rate string, reward, length []float64) {
		name := claim.AtLR("arm", rate)
		o.Set(claim.ArmColumn(name, surgeReward), reward...)
		o.Set(claim.ArmColumn(name, surgeLength), length...)
	}
	set(surgeRates[0], step(70, 0.8, 0), step(40, 10, 20))
	set(surgeRates[1], step(70, 0.8, 0), step(40, 10, 10))
	held := new(claim.Observation)
	held.Set(claim.ArmColumn(claim.AtLR("arm", surgeRates[0]), surgeReward), step(70, 0.8, 0.7)...)
	held.Set(claim.ArmColumn(claim.AtLR("arm", surgeRates[0]), surgeLength), step(40, 10, 20)...)
	held.Set(claim.ArmColumn(claim.AtLR("arm", surgeRates[1]), surgeReward), step(70, 0.8, 0.7)...)
	held.Set(claim.ArmColumn(claim.AtLR("arm", surgeRates[1]), surgeLength), step(40, 10, 10)...)
	leads, collapsed, early, healthy := surgeLeads(&claim.Judge{Runs: []*claim.Observation{o, held}}, "arm")
	// 20 % more length after three of ten steps, 30 % less reward after three or
	// four; without an alarm the end counts. Both runs are of one warm start.
	if len(leads) != 1 || collapsed != 2 || early != 1 || healthy != 2 {
		t.Fatalf("leads %v of %d runs, %d of %d healthy runs raise the alarm", leads, collapsed, early, healthy)
	}
	if !(leads[0] > (28-30)/2. && leads[0] < (33-20)/2.) {
		t.Errorf("leads %v, want about the mean of -26 and 30", leads)
	}
}
