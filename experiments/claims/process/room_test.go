package process

import (
	"math"
	"testing"
)

// Pearson's correlation of a line is its sign, and of (0,0), (1,1), (2,0) nothing.
func TestCorrelation(t *testing.T) {
	x := []float64{1, 2, 4}
	if got := correlation(x, []float64{5, 3, -1}); math.Abs(got+1) > 1e-12 {
		t.Errorf("correlation of a falling line: %v", got)
	}
	if got := correlation([]float64{0, 1, 2}, []float64{0, 1, 0}); math.Abs(got) > 1e-7 {
		t.Errorf("correlation of a tent: %v", got)
	}
}
