package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRliable: the worked example of Rliable's own tests (google-research/rliable,
// tests/rliable/metrics_test.py at f59f80b; there a row is a run, here a task).
func TestRliable(t *testing.T) {
	x := [][]float64{{1, 2, 1, 2}, {2, 2, 1, 1}}
	y := [][]float64{{1, 2, 3}, {1, 2, 3}}
	within(t, "IQM of x", iqm(x...).Estimate, 1.5, 1e-15)
	within(t, "IQM of y", iqm(y...).Estimate, 2, 1e-15)
	i := improvement(x, y)
	within(t, "improvement of x over y", i.Estimate, 1.0/3, 1e-15)
	within(t, "improvement of y over x", improvement(y, x).Estimate, 2.0/3, 1e-15)
	if i.N != 14 || !(i.Low < i.Estimate && i.Estimate < i.High) {
		t.Errorf("improvement %+v", i)
	}
	// Wikipedia, Mann-Whitney U test: Aesop's tortoises and hares in the order
	// T H H H H H T T T T T H, 11 wins of the tortoises' 36.
	tortoises, hares := []float64{12, 6, 5, 4, 3, 2}, []float64{11, 10, 9, 8, 7, 1}
	within(t, "tortoises", improvement([][]float64{tortoises}, [][]float64{hares}).Estimate, 11.0/36, 1e-15)
}

// TestIQM: cut by hand, as scipy's trim_mean rounds, and with what cannot vary.
func TestIQM(t *testing.T) {
	for _, c := range []struct{ x, sorted []float64 }{
		{[]float64{9, 1, 5}, []float64{1, 5, 9}},                     // 3/4 is 0: nothing is cut
		{[]float64{100, 1, 2, 3}, []float64{2, 3}},                   // one at either end
		{[]float64{7, 1, 2, 3, 100, 5, 6}, []float64{2, 3, 5, 6, 7}}, // 7/4 is 1
		{[]float64{8, 1, 2, 7, 3, 6, 4, 5}, []float64{3, 4, 5, 6}},
	} {
		within(t, "IQM", iqm(c.x).Estimate, Average(c.sorted), 1e-15)
	}
	if i := iqm([]float64{1}, []float64{2}, []float64{3}); i != (Interval{2, 2, 2, 3}) {
		t.Errorf("one run a task: %+v", i)
	}
}

// TestStratified: the strata are drawn from apart, so what differs between tasks
// and not within them has no interval, where one list of all has.
func TestStratified(t *testing.T) {
	low, high := []float64{1, 1, 1, 1}, []float64{5, 5, 5, 5}
	if i := iqm(low, high); i != (Interval{3, 3, 3, 8}) {
		t.Errorf("two tasks: %+v", i)
	}
	if i := iqm(append(low, high...)); !(i.Low < 2 && i.High > 4) {
		t.Errorf("one task: %+v", i)
	}
}

// TestIQMCoverage: five tasks of ten runs each, as papers have them, and one of ten.
// A thousand trials showed 0.944 and 0.946; here there are few, and the bound is
// three standard errors below.
func TestIQMCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	const trials = 80
	held, alone := 0, 0
	for range trials {
		tasks := make([][]float64, 5)
		for k := range tasks {
			tasks[k] = make([]float64, 10)
			for i := range tasks[k] {
				tasks[k][i] = rng.NormFloat64()
			}
		}
		if i := iqm(tasks...); i.Low <= 0 && 0 <= i.High {
			held++
		}
		if i := iqm(tasks[0]); i.Low <= 0 && 0 <= i.High {
			alone++
		}
	}
	if bound := trials * 87 / 100; held < bound || alone < bound {
		t.Errorf("%d and %d of %d intervals hold the truth", held, alone, trials)
	}
}

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
