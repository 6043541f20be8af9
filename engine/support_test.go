package engine_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/precision/must"
)

// A restricted row is z - logsumexp_K(z) in float64, and zero probability
// elsewhere; also where the kept mass is too small to be summed as it stands.
func TestSupport(t *testing.T) {
	const n = 37
	var support engine.Support
	for seed, shift := range []float32{0, 0, 0, 30, 95, 400} {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		logits := make([]float32, n)
		for i := range logits {
			logits[i] = 6 * float32(rng.NormFloat64())
		}
		logits[0] += shift // not kept: what is kept has a share of about e^-shift
		var kept []int32
		for _, i := range rng.Perm(n - 1)[:1+seed*5] {
			kept = append(kept, int32(i+1))
		}
		slices.Sort(kept)
		logp, probs := make([]float32, n), make([]float32, n)
		kernel.LogSoftmax(logp, logits, n, 0.5)
		kernel.Exp(probs, logp)
		logMass := support.LogMass(logp, probs, kept)
		engine.Restrict(logp, kept, logMass)

		total := 0.0
		for _, id := range kept {
			total += math.Exp(float64(logits[id]) / 2)
		}
		for id, lp := range logp {
			want := float64(logits[id])/2 - math.Log(total)
			if !slices.Contains(kept, int32(id)) {
				want = math.Inf(-1)
			}
			if got := float64(lp); got != want && !(math.Abs(got-want) < 2e-5) {
				t.Errorf("seed %d, token %d: log-prob %g, want %g", seed, id, got, want)
			}
		}
	}
}

// An empty support has no policy on it.
func TestSupportOfNothing(t *testing.T) {
	must.Panic(t, "an empty support", func() { new(engine.Support).LogMass([]float32{0}, []float32{1}, nil) })
}

// Restricting rows allocates nothing once the memory is there.
func TestSupportAllocations(t *testing.T) {
	var support engine.Support
	logp, probs, kept := []float32{-1, -2, -0.7}, []float32{0.37, 0.13, 0.5}, []int32{0, 2}
	if n := testing.AllocsPerRun(20, func() { engine.Restrict(logp, kept, support.LogMass(logp, probs, kept)) }); n != 0 {
		t.Errorf("%v allocations per row", n)
	}
}
