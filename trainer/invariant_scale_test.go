package trainer

import (
	"math"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/learner"
	"driftlab/trainer/method/batch"
)

// TestInvariantScale leaves the function unchanged: in fp32 exactly for a power
// of two, else up to rounding. Updates then weigh more against the error of
// quantised weights, by the factor. Reference: arXiv 2602.13953 (UAQ).
func TestInvariantScale(t *testing.T) {
	score := func(s float64) []float64 {
		r := small(t)
		r.InvariantScale = s
		m, p := prepared(t, r)
		scorer := learner.NewScorer(m.Model, m.Learner.Numerics, 1)
		defer scorer.Close()
		scorer.Publish(p, 0)
		b := batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 4, 8}, Prompt: [][]int32{{1, 5, 12, 6, 3}, {1, 7, 13, 9, 3}}, Token: []int32{4, 5, 6, 2, 9, 8, 7, 2}, Mask: make([]bool, 8)}}
		scorer.Score(&b.Old, &b.Sampled, learner.ScoreOptions{Policy: learner.Policy{Temperature: 1}})
		return b.Old.Logp
	}
	plain := score(1)
	if !slices.Equal(plain, score(2)) {
		t.Error("a factor of 2 changes log-probs")
	}
	for i, x := range score(1.5) {
		if math.Abs(x-plain[i]) > 2e-5 {
			t.Errorf("token %d: a factor of 1.5 moves the log-prob by %g", i, x-plain[i])
		}
	}
	// How far an update moves the projections, over the error of their quantiser.
	ratio := func(s float64) float64 {
		r := small(t)
		r.InvariantScale, r.Steps, r.Eval.Every, r.Learner.Optimizer.Warmup = s, 3, 0, 0
		_, before := prepared(t, r)
		after := mustRun(t, r, Options{}).Params
		int8, _ := engine.Preset("int8-w8a8")
		q := int8.Weights
		var moved, lost float64
		for l := range before.Config.Layers {
			x, y := before.Layer(l).QKV, after.Layer(l).QKV
			rounded := make([]float32, len(x))
			q.RoundTrip(rounded, x, len(x)/before.Config.DModel, before.Config.DModel)
			for i := range x {
				moved += float64((y[i] - x[i]) * (y[i] - x[i]))
				lost += float64((rounded[i] - x[i]) * (rounded[i] - x[i]))
			}
		}
		return math.Sqrt(moved / lost)
	}
	if gain := ratio(1.5) / ratio(1); gain < 1.35 || gain > 1.65 {
		t.Errorf("updates weigh %.3g times as much against the quantiser's error, want about 1.5", gain)
	}
}
