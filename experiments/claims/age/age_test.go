package age

import (
	"math"
	"testing"

	"driftlab/results/stats"
)

// TestFittedLaw: on runs that a law with alpha = 1.5 labels, the line finds the
// exponent and nine of ten labels.
func TestFittedLaw(t *testing.T) {
	var runs []lawRun
	for i := range 9 {
		for k := range 9 {
			r := lawRun{lag: float64(7*i)/10 + 1, ess: -float64(k) / 2}
			r.stable = r.lag < 3.91+float64(1.5*r.ess)
			runs = append(runs, r)
		}
	}
	l, right := fitted(runs), 0
	for _, r := range runs {
		if l.stable(r) == r.stable {
			right++
		}
	}
	if alpha := l.exponent(); math.Abs(alpha-1.5) > 0.2 || right < 73 {
		t.Errorf("alpha %.3f, %d of %d labels", alpha, right, len(runs))
	}
}

func TestBreakEven(t *testing.T) {
	// In logarithms the gain crosses zero halfway between the shares 0.3 and 0.5.
	if got := breakEven([]float64{0.8, 0.8, 1.25, 1.5, 2}); math.Abs(got-0.4) > 1e-12 {
		t.Errorf("break-even at %v", got)
	}
	if got := breakEven([]float64{0.5, 0.6, 0.7, 0.8, 0.9}); !math.IsNaN(got) {
		t.Errorf("break-even at %v of a gain that never comes", got)
	}
}

func TestSlopes(t *testing.T) {
	got := slopes([]float64{2, 6}, [][]float64{{1, 1}, {0.6, 1.2}})
	if want := []float64{-0.1, 0.05}; stats.Max(stats.Magnitudes(stats.Differences(got, want))) > 1e-12 {
		t.Errorf("slopes %v, want %v", got, want)
	}
}
