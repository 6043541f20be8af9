package measurements

import (
	"math"
	"slices"
	"testing"
)

// Engines that differ by shifts of the log-odds of -0.2, 0 and 0.2 displace them alike at every confidence, and log-probs by less
// the surer the token is; a bin without tokens has no deviation.
func TestByConfidence(t *testing.T) {
	var p, shifts []float64
	for _, sure := range []float64{.3, .95, 1 - 1e-6} {
		for _, shift := range []float64{-.2, 0, .2} {
			p, shifts = append(p, sure), append(shifts, shift)
		}
	}
	b := probabilities(p, make([]float64, len(p)))
	b.Vocab = 2
	for n, shift := range shifts {
		learner := 1 / (1 + (1-p[n])/p[n]*math.Exp(-shift))
		b.DistRoll = append(b.DistRoll, float32(math.Log(p[n])), float32(math.Log1p(-p[n])))
		b.Old.Dist = append(b.Old.Dist, float32(math.Log(learner)), float32(math.Log1p(-learner)))
		b.Old.Logp[n] = math.Log(learner)
	}
	lists := byConfidence(b)
	if !slices.Equal(lists[2], []float64{3, 0, 3, 0, 3}) {
		t.Errorf("%v tokens", lists[2])
	}
	for _, k := range []int{0, 2, 4} {
		if math.Abs(lists[0][k]-.2) > 1e-5 {
			t.Errorf("bin %d: the log-odds deviate by %v, want 0.2", k, lists[0][k])
		}
	}
	if low, sure := lists[1][0], lists[1][4]; low < .13 || sure > 2.3e-7 || !math.IsNaN(lists[0][1]) {
		t.Errorf("log-probs deviate by %v and %v; an empty bin by %v", low, sure, lists[0][1])
	}
}
