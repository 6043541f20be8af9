package measurements

import (
	"math"
	"testing"
)

// Of ratios 0.5, 1, 1.05 and 2, two lie outside [0.9, 1.1].
func TestRatioAndOutside(t *testing.T) {
	ratios := []float64{math.Log(.5), 0, math.Log(1.05), math.Log(2)}
	near(t, "mean ratio", meanRatio(ratios), 4.55/4)
	near(t, "outside", outsideTenth(ratios), .5)
}

// A token that was drawn from a support gains what the learner gives to the rest; one
// that was drawn from the whole vocabulary keeps its ratio.
func TestMaskedRatios(t *testing.T) {
	b := probabilities([]float64{.5, .5}, []float64{-.25, -.25})
	b.Vocab = 2
	for range 2 {
		b.Old.Dist = append(b.Old.Dist, float32(math.Log(.25)), float32(math.Log(.75)))
	}
	b.Support = [][]int32{{0}, nil}
	e := maskedRatios(b)
	if want := math.Log(4) - .25; math.Abs(e[0]-want) > 1e-6 || math.Abs(e[1]+.25) > 1e-12 {
		t.Errorf("log-ratios %v, want %v and -0.25", e, want)
	}
}
