package measurements

import (
	"math"
	"testing"
)

// TestPairVariance: two groups of a prompt at a distance of 2 and two that agree.
func TestPairVariance(t *testing.T) {
	if v := pairVariance([][]float64{{1, 0}, {-1, 0}, {3, 3}, {3, 3}}); v != 1 {
		t.Errorf("variance %v, want 1", v)
	}
	if m := meanVector([][]float64{{1, 0}, {3, 4}}); math.Abs(m[0]-2)+math.Abs(m[1]-2) > 1e-12 {
		t.Errorf("mean %v", m)
	}
}
