package stats

import (
	"math"
	"testing"
)

// TestAUC: by hand, a constant and a line; uneven steps weigh by their width.
func TestAUC(t *testing.T) {
	within(t, "constant", AUC([]float64{0, 1, 5}, []float64{2, 2, 2}), 2, 1e-15)
	within(t, "line", AUC([]float64{0, 10, 20, 40}, []float64{0, 1, 2, 4}), 2, 1e-15)
	within(t, "step", AUC([]float64{0, 1, 3}, []float64{0, 1, 1}), 2.5/3, 1e-15)
	within(t, "point", AUC([]float64{4}, []float64{0.7}), 0.7, 0)
	if v := AUC([]float64{0, 1}, []float64{0, math.NaN()}); !math.IsNaN(v) {
		t.Errorf("a gap is %v", v)
	}
}
