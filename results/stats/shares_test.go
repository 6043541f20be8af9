package stats

import (
	"math/rand/v2"
	"testing"
)

// TestTShares works two cases out by hand. Three seeds: differences -0.9, -0.1 and
// -0.35, whose t-interval is -0.45 ± 1.02 (deviation 0.409268, t(0.975, 2) = 4.302653);
// the other mean is 0.95 without spread, so the difference lies in -0.95 to 0.05. Where
// no bound is reached, it is T.
func TestTShares(t *testing.T) {
	b := []float64{0.95, 0.95, 0.95}
	got := TShares([]float64{0.05, 0.85, 0.6}, b)
	within(t, "estimate", got.Estimate, -0.45, 1e-12)
	within(t, "low", got.Low, -0.95, 1e-12)
	within(t, "high", got.High, 0.05, 1e-12)

	x, y := []float64{0.5, 0.55, 0.6}, []float64{0.75, 0.75, 0.81}
	if got, want := TShares(x, y), T(Differences(x, y)); got != want {
		t.Errorf("far from the bounds: %v, want %v", got, want)
	}
	if got, want := TShares([]float64{1}, []float64{0.25}), (Interval{0.75, 0.75, 0.75, 1}); got != want {
		t.Errorf("one pair: %v, want %v", got, want)
	}
}

// TestTSharesCoverage counts how often the interval of few seeds holds the truth, beside
// T of the same differences: it may lose nothing but what chance makes of the means'
// own intervals, half a percent, it stays within -1 to 1, and it is the shorter one. The
// populations are arms against a control that ends at 0.93: one that stays with it, one
// that collapses on three seeds of ten, one whose every seed reaches 1. Three seeds are
// too few for any interval by a deviation where runs end in two ways: it covers six
// times of ten, with ten seeds as often as it says.
func TestTSharesCoverage(t *testing.T) {
	share := func(rng *rand.Rand, mean, spread float64) float64 {
		return min(1, max(0, mean+float64(spread*rng.NormFloat64())))
	}
	const trials = 300
	for _, c := range []struct {
		name  string
		n     int
		arm   func(*rand.Rand) float64
		truth float64 // of the arm
		least float64 // coverage, three standard errors below what T has here
	}{
		{"stays, 3 seeds", 3, func(r *rand.Rand) float64 { return share(r, 0.9, 0.02) }, 0.9, 0.93},
		{"collapses on some, 3 seeds", 3, func(r *rand.Rand) float64 { return []float64{0.1, 0.9}[min(1, r.IntN(10)/3)] }, 0.66, 0.57},
		{"collapses on some, 10 seeds", 10, func(r *rand.Rand) float64 { return []float64{0.1, 0.9}[min(1, r.IntN(10)/3)] }, 0.66, 0.93},
		{"reaches 1, 3 seeds", 3, func(*rand.Rand) float64 { return 1 }, 1, 0.93},
		{"any, 3 seeds", 3, func(r *rand.Rand) float64 { return r.Float64() }, 0.5, 0.89},
	} {
		rng := rand.New(rand.NewPCG(29, uint64(c.n)))
		plain, cut := 0, 0
		width, before := 0.0, 0.0
		a, b := make([]float64, c.n), make([]float64, c.n)
		for range trials {
			for i := range c.n {
				a[i], b[i] = c.arm(rng), share(rng, 0.93, 0.02)
			}
			i, j, truth := TShares(a, b), T(Differences(a, b)), c.truth-0.93
			if i.Low < -1 || i.High > 1 || i.Low > i.Estimate || i.High < i.Estimate {
				t.Fatalf("%s: %v of %v minus %v", c.name, i, a, b)
			}
			if i.Low <= truth && truth <= i.High {
				cut++
			}
			if j.Low <= truth && truth <= j.High {
				plain++
			}
			width, before = width+i.High-i.Low, before+j.High-j.Low
		}
		got, of := float64(cut)/trials, float64(plain)/trials
		t.Logf("%s: covers %.3f, T %.3f; mean length %.2f, T %.2f", c.name, got, of, width/trials, before/trials)
		if got < c.least || got < of-0.005 || width > before {
			t.Errorf("%s: covers the truth in %.3f of the trials, T in %.3f, want at least %v; mean length %.2f, T %.2f", c.name, got, of, c.least, width/trials, before/trials)
		}
	}
}
