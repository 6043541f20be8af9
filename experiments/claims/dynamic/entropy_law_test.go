package dynamic

import (
	"math"
	"testing"
)

// TestLawFit: a curve drawn by the law is explained, one that rises with the
// entropy is not, and a third of it tells where it ends.
func TestLawFit(t *testing.T) {
	var h, fall, rise []float64
	for k := range 12 {
		x := 2 - float64(k)/10
		h, fall, rise = append(h, x), append(fall, 0.9-float64(0.1*math.Exp(x))), append(rise, float64(0.1*math.Exp(x)))
	}
	exps := make([]float64, len(h))
	for i, x := range h {
		exps[i] = math.Exp(x)
	}
	if r := explained(exps, fall); math.Abs(r-1) > 1e-9 {
		t.Errorf("R² %v of the law's own curve", r)
	}
	if r := explained(exps, rise); r != 0 {
		t.Errorf("R² %v of a curve that rises", r)
	}
	for _, n := range []int{4, 12} {
		if c := ceiling(h[:n], fall[:n]); math.Abs(c-0.8) > 1e-9 {
			t.Errorf("b - a is %v from %d points, want 0.8", c, n)
		}
	}
}
