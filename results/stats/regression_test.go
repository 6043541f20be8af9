package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRegress recovers the coefficients of an exact plane, and agrees with the
// simple regression on one column.
func TestRegress(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var a, b, y, noisy []float64
	for range 40 {
		a, b = append(a, rng.NormFloat64()), append(b, rng.NormFloat64())
		n := len(a) - 1
		y = append(y, 2+3*a[n]-0.5*b[n])
		noisy = append(noisy, y[n]+0.1*rng.NormFloat64())
	}
	intercept, slopes := Regress(y, a, b)
	for i, want := range []float64{2, 3, -0.5} {
		if got := append([]float64{intercept}, slopes...)[i]; math.Abs(got-want) > 1e-12 {
			t.Errorf("coefficient %d is %v, want %v", i, got, want)
		}
	}
	if _, s := Regress(noisy, a); math.Abs(s[0]-Slope(a, noisy)) > 1e-12 {
		t.Errorf("one column: %v, Slope says %v", s[0], Slope(a, noisy))
	}
}

// TestSolve: a square system by hand, and those that have no single solution.
func TestSolve(t *testing.T) {
	columns := [][]float64{{2, 1}, {1, 3}} // 2x + y = 5, x + 3y = 10
	x, ok := Solve(columns, []float64{5, 10})
	if !ok || math.Abs(x[0]-1) > 1e-14 || math.Abs(x[1]-3) > 1e-14 {
		t.Errorf("x is %v, %v", x, ok)
	}
	if columns[0][0] != 2 || columns[1][1] != 3 {
		t.Errorf("the columns are %v afterwards", columns)
	}
	for _, columns := range [][][]float64{{{1, 2}, {2, 4}}, {{0, 0}}, {{1, 0}, {0, 1}, {1, 1}}} {
		if x, ok := Solve(columns, []float64{1, 1}); ok {
			t.Errorf("columns %v determine %v", columns, x)
		}
	}
}
