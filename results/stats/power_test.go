package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPublishedPower: R's documentation of power.t.test (two samples of 20 that
// differ by one deviation: 0.8689528, which is 38 degrees of freedom and √10), SAS's and
// pwr's worked example of light bulbs (one sample, d = 0.8: 0.616 with 10, 0.82 with
// 15), G*Power's of one sample of 25 with d = 1/3 (0.360), and noncentral tails by
// integrating over the deviation with mpmath 1.3.0.
func TestPublishedPower(t *testing.T) {
	two := func(shift, df float64) float64 { return rejects(shift, StudentQuantile(df), df) }
	within(t, "power.t.test", two(math.Sqrt(10), 38), 0.8689528, 1e-6)
	within(t, "ten bulbs", two(0.8*math.Sqrt(10), 9), 0.616, 5e-4)
	within(t, "fifteen bulbs", two(0.8*math.Sqrt(15), 14), 0.82, 5e-3)
	within(t, "G*Power", two(5.0/3, 24), 0.360, 5e-4)
	for _, c := range []struct{ shift, df, want float64 }{
		{2.5, 9, 0.606138374201528}, {3, 19, 0.812065380293041}, {16, 1, 0.790646646921112}, {2.8, 999, 0.798801174458346}, {0, 5, 0.05},
	} {
		within(t, "mpmath", two(c.shift, c.df), c.want, 1e-12)
	}
}

// TestSmallestEffect: by mpmath 1.3.0, in deviations; and the standard deviation scales it.
func TestSmallestEffect(t *testing.T) {
	for n, want := range map[int]float64{2: 11.5498884358824, 3: 3.26404354969957, 5: 1.68199696595555,
		10: 0.996001371455444, 20: 0.660441654623026, 100: 0.282912632781387} {
		if got := SmallestEffect(1, n); relative(got, want) > 1e-11 {
			t.Errorf("of %d: %.15g, want %.15g", n, got, want)
		}
		if got := SmallestEffect(2.5, n); relative(got, 2.5*want) > 1e-11 {
			t.Errorf("of %d, deviation 2.5: %.15g", n, got)
		}
	}
	if got := SmallestEffect(1, 1); !math.IsInf(got, 1) {
		t.Errorf("one value finds %v", got)
	}
}

// TestSmallestEffectIsFound draws samples with that mean: the test finds 8 of 10.
func TestSmallestEffectIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const trials, n = 10_000, 10
	effect, found := SmallestEffect(3, n), 0
	x := make([]float64, n)
	for range trials {
		for i := range x {
			x[i] = effect + 3*rng.NormFloat64()
		}
		if TTest(x, 0) < 0.05 {
			found++
		}
	}
	within(t, "found", float64(found)/trials, 0.8, 0.012)
}

// TestEnough: the sample sizes of one-sample t-tests with power 0.8 in every table
// (G*Power; Cohen 1988): 15, 34 and 199 for large, medium and small effects.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		effect, sd float64
		want       int
	}{
		{0.8, 1, 15}, {0.5, 1, 34}, {-1, 2, 34}, {0.2, 1, 199}, {100, 1, 2}, {1, 0, 2}, {0, 1, mostReplications},
		{1e-9, 1, mostReplications}, {math.NaN(), 1, mostReplications}, {math.Inf(1), 1, 2},
	} {
		if got := Enough(c.effect, c.sd); got != c.want {
			t.Errorf("effect %v, deviation %v: %d, want %d", c.effect, c.sd, got, c.want)
		}
	}
}
