package advantage

import (
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// The numbers of this file are worked by hand; no code base was found to
// compare these estimators with.

// Two responses of two turns each, rewards at the turns' last tokens:
// 1 then 2, and 0 then 4. With gamma .5 the rewards to come are 2 and 2 from the
// first turn, 2 and 4 from the second.
func TestTurnLevelByHand(t *testing.T) {
	build := func() *batch.Batch {
		b := single([]float64{3, 4}, []int{0, 0}, []int{3, 2})
		b.Turn = []int32{0, 1, 1, 0, 1}
		b.TokenReward = []float64{1, 0, 2, 0, 4}
		b.Value = []float64{.5, 1, 9, .25, 3}
		return b
	}
	for _, c := range []struct {
		name string
		e    *TurnLevel
		want []float64
	}{
		{"group", &TurnLevel{Gamma: .5, Baseline: "group"}, []float64{0, -1, -1, 0, 1}},
		{"group, std √2", &TurnLevel{Gamma: .5, Baseline: "group", Std: true}, []float64{0, -1 / math.Sqrt2, -1 / math.Sqrt2, 0, 1 / math.Sqrt2}},
		{"group, no discount", &TurnLevel{Gamma: 1, Baseline: "group"}, []float64{-.5, -1, -1, .5, 1}},
		{"value at the turn's first token", &TurnLevel{Gamma: .5, Baseline: "value"}, []float64{1.5, 1, 1, 1.75, 1}},
	} {
		c.e.Asymmetry = symmetric
		estimates(t, c.name, c.e, build(), c.want, 1e-12)
	}
	// A turn that no sibling has keeps its reward to come.
	b := build()
	b.Turn[4] = 0
	b.TokenReward[4] = 0
	estimates(t, "lone turn", &TurnLevel{Asymmetry: symmetric, Gamma: 1, Baseline: "group"}, b, []float64{1.5, 2, 2, -1.5, -1.5}, 1e-12)
}

// Outcome rewards 1 and 0 centre to ±½. Steps 2, 0 marks nothing, 4, and 3 have
// mean 3, so they centre to −1, +1, 0, summed from the end of each response. The
// outcome stands in Reward and TokenReward too and counts once all the same.
func TestProcessByHand(t *testing.T) {
	b := single([]float64{1, 0}, []int{0, 0}, []int{4, 2})
	b.StepReward, b.OutcomeParts = []float64{2, 0, 4, 0, 0, 3}, [][]float64{{1}, {0}}
	b.RewardParts, b.TokenReward = [][]float64{{1, 6}, {0, 3}}, []float64{2, 0, 4, 1, 0, 3}
	want := []float64{.5, .5 + 2, .5 + 2, .5, -.5, -.5} // the first step and the second cancel
	estimates(t, "advantages", &Process{Asymmetry: symmetric, Credit: creditToCome, OutcomeWeight: 1, ProcessWeight: 2}, b, want, 1e-12)
	// Kinds of outcome are normalised separately and added.
	b.OutcomeParts = [][]float64{{1, 0}, {0, 10}}
	estimates(t, "two opposite kinds", &Process{Asymmetry: symmetric, Credit: creditToCome, OutcomeWeight: 1, Std: true}, b, []float64{0, 0, 0, 0, 0, 0}, 1e-12)
	// A reward that has nothing but steps has no outcome.
	b.OutcomeParts = [][]float64{{}, {}}
	estimates(t, "steps alone", &Process{Asymmetry: symmetric, Credit: creditToCome, OutcomeWeight: 1, ProcessWeight: 1}, b, []float64{0, 1, 1, 0, 0, 0}, 1e-12)
}

func TestProcessJointAndByStep(t *testing.T) {
	b := single([]float64{1, 0}, []int{0, 0}, []int{4, 2})
	b.StepReward, b.OutcomeParts = []float64{.1, 0, -.1, 0, 0, .1}, [][]float64{{1}, {0}}
	// One mean of all five, 0.22: .1 -> -.12, -.1 -> -.32; 1 -> .78, 0 -> -.22.
	estimates(t, "joint", &Process{Asymmetry: symmetric, OutcomeWeight: 1, ProcessWeight: 1, Joint: true, Credit: creditToCome}, b, []float64{.34, .46, .46, .78, -.34, -.34}, 1e-12)
	// The mean of the steps is 1/30; what comes after the last one belongs to no step.
	estimates(t, "by step", &Process{Asymmetry: symmetric, ProcessWeight: 3, Credit: creditStep}, b, []float64{.2, -.4, -.4, 0, .2, .2}, 1e-12)
}

func TestVineByHand(t *testing.T) {
	b := single([]float64{7, 0}, []int{0, 0}, []int{4, 2})
	b.Episode, b.PrefixValue = []int32{0, 0, 1, 2, 0, 0}, []float64{.3, .3, .6, .2, .3, .3}
	b.OutcomeParts = [][]float64{{.4, .6}, {0, 0}}
	want := []float64{.3, .3, -.4, .8, -.3, -.3}
	estimates(t, "advantages", &Vine{Asymmetry: symmetric}, b, want, 1e-12)
	b.OutcomeParts, b.Reward[0] = nil, 1 // no part has a place: the reward is the outcome
	estimates(t, "of the reward", &Vine{Asymmetry: symmetric}, b, want, 1e-12)
}

func TestZeroVarianceByHand(t *testing.T) {
	b := single([]float64{1, 1, 0, 0, 1, 0}, []int{0, 0, 1, 1, 2, 2}, []int{2, 1, 2, 1, 1, 1})
	b.Old.Entropy = []float64{.3, .5, 1, .2, .6, .4, 9, 9}
	want := []float64{.03, .05, .1, -.04, 0, 0, .5, -.5}
	estimates(t, "advantages", &ZeroVariance{Asymmetry: symmetric, Scale: .1}, b, want, 1e-12)
	// Labels decide where there are any: a group of wrong answers with reward 1.
	b.Correct = []bool{false, false, false, false, true, false}
	estimate(t, &ZeroVariance{Asymmetry: symmetric, Scale: .1}, b)
	want[0], want[1], want[2] = -.02, 0, 0
	if !nearAll(b.Advantage, want, 1e-12) {
		t.Errorf("with labels: %v, want %v", b.Advantage, want)
	}
}

// One column, then two: increments .5 and 1 with weights 1, 2 give the energies
// (.5, .5 + 1·4) by increment and (.5, 1.5·4) cumulatively.
func TestOTBScaleByHand(t *testing.T) {
	build := func() *batch.Batch {
		b := single([]float64{1, 0}, []int{0, 0}, []int{2, 2})
		b.TokenReward = []float64{0, 1, 0, 0}
		half := math.Log(.5)
		b.Old.Logp = []float64{half, half, half, half} // 1 − 2·½ = 0: the increment is SumSquares
		b.Old.SumSquares = []float64{.5, 1, 1, 1}
		b.Weight = []float64{1, 2, 1, 1}
		return b
	}
	for _, c := range []struct {
		scale string
		want  []float64
	}{
		{"increment", []float64{1 - .5/1.5, 1 - 4.5/6.5, -.5 / 1.5, -4.5 / 6.5}},
		{"cumulative", []float64{1 - .5/1.5, 1 - 6./8, -.5 / 1.5, -6. / 8}},
	} {
		estimates(t, c.scale, &OTB{Asymmetry: symmetric, Scale: c.scale}, build(), c.want, 1e-12)
	}
}

// Leave-one-out of one has nothing to leave: the reward stays.
func TestNormalizeByHand(t *testing.T) {
	b := single([]float64{2, 1, 4, 10}, []int{0, 1, 1, 1}, []int{1, 1, 1, 1})
	estimates(t, "leave one out", &Normalize{Asymmetry: symmetric, Mean: "group", Std: "none", LeaveOneOut: true}, b, []float64{2, -6, -1.5, 7.5}, 1e-12)
	// Rewards 2, 1, 4, 10: mean 4.25, squares 5.0625 + 10.5625 + .0625 + 33.0625.
	estimate(t, &Normalize{Asymmetry: symmetric, Mean: "group", Std: "batch", Biased: true}, b)
	scale := math.Sqrt(48.75 / 4)
	if want := []float64{0, -4 / scale, -1 / scale, 5 / scale}; !nearAll(b.Advantage, want, 1e-12) {
		t.Errorf("group mean, batch deviation: %v, want %v", b.Advantage, want)
	}
}
