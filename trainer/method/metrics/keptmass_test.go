package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/batch"
)

// drawn samples n tokens from mu, which keeps the first of the vocabulary's
// tokens only, and records what a learner with policy p and one of two mistakes
// would: no mistake, log-probs before renormalisation, or before the temperature.
func drawn(n int, p, mu []float64, record func(token int) float64) *batch.Batch {
	rng := rand.New(rand.NewPCG(3, 4))
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, n}, Vocab: len(p)}}
	kept := 0.0
	var support []int32
	for a, x := range mu {
		if x > 0 {
			kept += p[a]
			support = append(support, int32(a))
		}
	}
	for range n {
		u, token := rng.Float64(), 0
		for u > mu[token] && token+1 < len(support) {
			u -= mu[token]
			token++
		}
		b.Mask, b.Token, b.Support = append(b.Mask, true), append(b.Token, int32(token)), append(b.Support, support)
		b.KeptMass, b.Old.Logp = append(b.KeptMass, kept), append(b.Old.Logp, math.Log(p[token]))
		b.LogpRoll = append(b.LogpRoll, record(token))
		for _, x := range p {
			b.Old.Dist = append(b.Old.Dist, float32(math.Log(x)))
		}
	}
	return b
}

// The identity holds for the distribution that was sampled, whatever the learner's policy
// is, and fails for log-probs of another one.
func TestKeptMass(t *testing.T) {
	p := []float64{0.4, 0.3, 0.2, 0.1}
	equal := []float64{0.4 / 0.7, 0.3 / 0.7, 0, 0}
	other := []float64{0.2, 0.8, 0, 0}
	for _, c := range []struct {
		name     string
		mu       []float64
		record   func(mu []float64, token int) float64
		expected float64
		holds    bool
	}{
		{"equal engines", equal, func(mu []float64, a int) float64 { return math.Log(mu[a]) }, 0.7, true},
		{"another engine", other, func(mu []float64, a int) float64 { return math.Log(mu[a]) }, 0.7, true},
		{"before renormalisation", equal, func(mu []float64, a int) float64 { return math.Log(p[a]) }, 0.7, false},
		{"at another temperature", other, func(mu []float64, a int) float64 { return 0.5 * math.Log(mu[a]) }, 0.7, false},
	} {
		k, ok := CompareKeptMass(drawn(4000, p, c.mu, func(a int) float64 { return c.record(c.mu, a) }))
		if !ok || k.Holds != c.holds || math.Abs(k.Expected-c.expected) > 1e-6 || math.Abs(k.Kept-0.7) > 1e-12 {
			t.Errorf("%s: %v %+v", c.name, ok, k)
		}
		if c.name == "equal engines" && (math.Abs(k.Ratio-0.7) > 1e-9 || k.StdErr > 1e-9) {
			t.Errorf("%s: every ratio is the kept mass, and %+v", c.name, k)
		}
	}
	b := drawn(10, p, equal, func(int) float64 { return 0 })
	b.Old.Dist = nil
	if _, ok := CompareKeptMass(b); ok {
		t.Error("computed without distributions")
	}
}
