package measurements

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// near fails unless got is want to a part in 10⁹.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// probabilities is a batch of one response whose tokens had these probabilities under
// the rollout engine, and these ones in the learner over them.
func probabilities(p, ratio []float64) *batch.Batch {
	b := new(batch.Batch)
	b.Offsets = []int{0, len(p)}
	b.Token = make([]int32, len(p))
	for i := range p {
		b.LogpRoll = append(b.LogpRoll, math.Log(p[i]))
		b.Old.Logp = append(b.Old.Logp, math.Log(p[i])+ratio[i])
	}
	return b
}

// Bins go by the rollout probability, however the tokens lie; gaps lose their sign and
// signed means keep it.
func TestByProbability(t *testing.T) {
	lists := byProbability(probabilities([]float64{.9, .1, .8, .2}, []float64{.01, -.3, -.03, .1}), 2)
	p, gap, signed := lists[0], lists[1], lists[2]
	near(t, "low p", p[0], .15)
	near(t, "high p", p[1], .85)
	near(t, "low gap", gap[0], .2)
	near(t, "high gap", gap[1], .02)
	near(t, "low, signed", signed[0], -.1)
	near(t, "high, signed", signed[1], -.01)
}

// Rare and sure tokens are counted separately; tokens between them are in neither count.
func TestExtremes(t *testing.T) {
	lists := extremes(probabilities([]float64{.001, .005, .5, .995, .999}, []float64{.4, -.004, 9, .02, 0}))
	if !slices.Equal(lists[1], []float64{2, 2}) || !slices.Equal(lists[2], []float64{1, 1}) {
		t.Errorf("%v tokens, %v wide", lists[1], lists[2])
	}
	near(t, "rare gap", lists[0][0], .202)
	near(t, "sure gap", lists[0][1], .01)
}

// Over {1/2, 1/2 - 1e-5, 1e-5} and {3/4, 1/8, 1/8}: Σπ²/μ - 1, whole, and without the
// rare token, where both sides are renormalised.
func TestExactChi2(t *testing.T) {
	b := probabilities([]float64{.5}, []float64{0})
	mu, pi := []float64{.5, .5 - 1e-5, 1e-5}, []float64{.75, .125, .125}
	b.Vocab = 3
	for i := range mu {
		b.DistRoll, b.Old.Dist = append(b.DistRoll, float32(math.Log(mu[i]))), append(b.Old.Dist, float32(math.Log(pi[i])))
	}
	chi2 := exactChi2(b)
	full, pruned := chi2[0], chi2[1]
	wantFull, wantPruned := -1.0, -1.0
	for i := range mu {
		wantFull += pi[i] * pi[i] / mu[i]
		if i < 2 {
			p, m := pi[i]/.875, mu[i]/(1-1e-5)
			wantPruned += p * p / m
		}
	}
	if math.Abs(full/wantFull-1) > 1e-5 || math.Abs(pruned/wantPruned-1) > 1e-5 {
		t.Errorf("chi2 %v and %v, want %v and %v", full, pruned, wantFull, wantPruned)
	}
}
