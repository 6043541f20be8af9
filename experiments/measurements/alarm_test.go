package measurements

import (
	"math"
	"testing"
)

// TestFirstWindow: a window tells the update at which it ends, and compares with the
// best window before it.
func TestFirstWindow(t *testing.T) {
	var x []float64
	for i := range 40 {
		x = append(x, []float64{1, 0}[i/20])
	}
	half := func(best, mean float64) bool { return mean <= best/2 }
	if got := firstWindow(x, half); got != 25 {
		t.Errorf("falls at update %v, want 25", got)
	}
	if got := firstWindow(x[:20], half); !math.IsInf(got, 1) {
		t.Errorf("a curve that is flat falls at %v", got)
	}
}
