package measurements

import (
	"math"
	"testing"
)

// Ratios 2, 1/2 and 3 with advantages 1, 2 and -1; a token without an advantage belongs to
// neither side.
func TestSkews(t *testing.T) {
	up, down := skews([]float64{1, 2, -1, 0}, []float64{math.Log(2), math.Log(.5), math.Log(3), 5})
	if math.Abs(up) > 1e-15 || math.Abs(down+2) > 1e-15 {
		t.Errorf("skews %v and %v, want 0 and -2", up, down)
	}
	if up, down := skews([]float64{0}, []float64{1}); up != 0 || down != 0 {
		t.Errorf("skews of nothing: %v and %v", up, down)
	}
}
