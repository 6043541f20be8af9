package loss

import (
	"math"
	"slices"
	"testing"
)

// The control of kl_cov holds back as many tokens as it does, drawn by seed and
// version and by no covariance.
func TestKLCovAtRandom(t *testing.T) {
	b := nastyBatch(3, false)
	plain := eval(t, &KLCov{Share: 0.3, LogClamp: 20}, b).DLogp
	held := func(p *KLCov, version int) (tokens []int) {
		b.LearnerVersion = version
		for n, d := range eval(t, p, b).DLogp {
			if math.Abs(d-plain[n]) > 1e-12 {
				tokens = append(tokens, n)
			}
		}
		return tokens
	}
	chosen := held(&KLCov{Share: 0.3, Beta: 1, LogClamp: 20}, 0)
	random := KLCov{Share: 0.3, Beta: 1, LogClamp: 20, Random: true, Seed: 1}
	drawn := held(&random, 0)
	if len(drawn) == 0 || len(drawn) != len(chosen) {
		t.Fatalf("%d tokens are held back at random, %d by covariance", len(drawn), len(chosen))
	}
	if slices.Equal(drawn, chosen) || !slices.Equal(drawn, held(&random, 0)) {
		t.Error("the draw follows the covariance, or does not repeat")
	}
	other := random
	other.Seed = 2
	if slices.Equal(drawn, held(&random, 1)) || slices.Equal(drawn, held(&other, 0)) {
		t.Error("another version or seed draws the same tokens")
	}
}
