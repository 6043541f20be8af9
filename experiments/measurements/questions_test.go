package measurements

import (
	"math"
	"testing"

	"driftlab/experiments/study/claims/claim"
	"driftlab/trainer/method/batch"
)

// TestSearchFigures: of two right and two wrong answers, one of which tries nothing.
func TestSearchFigures(t *testing.T) {
	got := searchFigures([]searchAnswer{{tokens: 3}, {tokens: 10, correct: true}, {tokens: 4, correct: true}, {tokens: 7}})
	for name, want := range map[string]float64{"pass rate": .5, "length": 6, "empty": .25, "length of right": 7, "length of wrong": 5, "log of wrong over right": math.Log(5. / 7)} {
		if math.Abs(got[name]-want) > 1e-15 {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
}

// Of a response of two tokens and one of four, whose ratio is 1 and then 1.1: every
// aggregation holds its own quantity constant, up to the ratio.
func TestWeightSpread(t *testing.T) {
	b := new(batch.Batch)
	b.Offsets = []int{0, 2, 6}
	b.Token, b.Mask = make([]int32, 6), []bool{true, true, true, true, true, true}
	b.Advantage = []float64{1, 1, -2, -2, -2, -2}
	b.Anchor = make([]float64, 6)
	for _, ratio := range []float64{1, 1.1} {
		v := math.Log(ratio)
		b.Now.Logp = []float64{0, 0, v, v, v, v}
		for _, aggregation := range []string{"token-mean", "seq-mean-token-mean", "seq-mean-token-sum-norm:96"} {
			got := weightSpread(b, aggregation)
			// The length is divided by with 1e-8 added.
			if want := ratio - 1; math.Abs(got-want) > 1e-7 {
				t.Errorf("%s, ratio %v: spread %v, want %v", aggregation, ratio, got, want)
			}
		}
	}
	if new(claim.Env).Do(t.Context(), func() { weightSpread(b, "seq-mean-token-mean:2") }) == nil {
		t.Error("a divisor that this aggregation has no use for is taken")
	}
}
