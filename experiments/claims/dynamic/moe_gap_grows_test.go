package dynamic

import (
	"math"
	"testing"
)

func TestTravelled(t *testing.T) {
	if got := travelled([]float32{3, 4}, []float32{3, 4.5}); math.Abs(got-0.1) > 1e-12 {
		t.Errorf("a change of 0.5 in weights of length 5 is %v", got)
	}
}
