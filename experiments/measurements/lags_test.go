package measurements

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"driftlab/experiments/study/claims/claim"
)

// TestLagLawFit: on runs that a law with alpha = 1.5 labels, the line finds the
// exponent and nine of ten labels.
func TestLagLawFit(t *testing.T) {
	var runs []lagRun
	for i := range 9 {
		for k := range 9 {
			r := lagRun{lag: float64(7*i)/10 + 1, ess: -float64(k) / 2}
			r.stable = r.lag < 3.91+float64(1.5*r.ess)
			runs = append(runs, r)
		}
	}
	l, right := fitLagLaw(runs), 0
	for _, r := range runs {
		if l.stable(r) == r.stable {
			right++
		}
	}
	if alpha := l.exponent(); math.Abs(alpha-1.5) > 0.2 || right < 73 {
		t.Errorf("alpha %.3f, %d of %d labels", alpha, right, len(runs))
	}
}

// TestBreakEvenShare: in logarithms the gain crosses zero halfway between the shares 0.3 and 0.5; one that never comes is NaN.
func TestBreakEvenShare(t *testing.T) {
	shares := []float64{0.1, 0.3, 0.5, 0.7, 0.9}
	if got := breakEvenShare(shares, []float64{0.8, 0.8, 1.25, 1.5, 2}); math.Abs(got[0]-0.4) > 1e-12 {
		t.Errorf("break-even at %v", got)
	}
	if got := breakEvenShare(shares, []float64{0.5, 0.6, 0.7, 0.8, 0.9}); !math.IsNaN(got[0]) {
		t.Errorf("break-even at %v of a gain that never comes", got)
	}
}

// A collapse is where a run falls below its best for good; in runs that follow the law, the slopes are the law's exponents.
func TestCollapseAndSlopes(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		n, at int
	}{
		{[]float64{0.5, 0.8, 0.2, 0.7, 0.1, 0}, 6, 4}, {[]float64{0.5, 0.8, 0.2, 0.7, 0.1, 0}, 4, -1}, {[]float64{0.2, 0.5, 0.9}, 3, -1},
		{[]float64{0.5, 0, 0}, 3, 1}, {[]float64{0, 0}, 2, -1},
	} {
		if got := collapse(c.rates, c.n); got != c.at {
			t.Errorf("%v, the first %d: collapse at %d, want %d", c.rates, c.n, got, c.at)
		}
	}
	o := new(claim.Observation)
	for _, lag := range []int{0, 4, 16, 64} {
		for _, name := range []string{"2.5e-4", "5e-4", "1e-3", "2e-3", "4e-3"} {
			rate, _ := strconv.ParseFloat(name, 64)
			curve := slices.Repeat([]float64{1}, allEvaluations)
			// Rates above 16e-3/S collapse, at the evaluation 0.02/rate.
			if lag > 0 && rate > 0.0161/float64(lag) || lag == 0 && name == "4e-3" {
				at := int(0.02/rate) / 4
				for k := at; k < len(curve); k++ {
					curve[k] = 0
				}
			}
			o.Set(claim.AtLR(fmt.Sprintf("staleness %d", lag), name), curve...)
		}
	}
	if got := stableSlope(o); math.Abs(got+1) > 0.25 {
		t.Errorf("slope %v of a law of -1", got)
	}
	if b := collapseSlopes(o); b == nil || math.Abs(b[1]+1) > 0.3 || math.Abs(b[2]) > 0.1 {
		t.Errorf("slopes %v of updates to collapse", b)
	}
}
