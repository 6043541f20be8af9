package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestCoverage measures how often the interval holds the true mean. The
// bounds are three standard errors around what a bootstrap of that many normal
// values is known to reach; the last row shows that skewed data lose more.
func TestCoverage(t *testing.T) {
	normal := func(r *rand.Rand) float64 { return r.NormFloat64() }
	skewed := func(r *rand.Rand) float64 { return r.ExpFloat64() - 1 }
	for _, c := range []struct {
		name      string
		n, trials int
		draw      func(*rand.Rand) float64
		low, high float64
	}{
		{"five seeds", 5, 300, normal, 0.77, 0.90},
		{"twenty seeds", 20, 300, normal, 0.89, 0.97},
		{"twenty seeds, skewed", 20, 300, skewed, 0.86, 0.96},
	} {
		rng := rand.New(rand.NewPCG(7, uint64(c.n)))
		held := 0
		x := make([]float64, c.n)
		for range c.trials {
			for i := range x {
				x[i] = c.draw(rng)
			}
			if i := Mean(x); i.Low <= 0 && 0 <= i.High {
				held++
			}
		}
		if share := float64(held) / float64(c.trials); share < c.low || share > c.high {
			t.Errorf("%s: covers the truth in %.3f of the trials, want %v to %v", c.name, share, c.low, c.high)
		}
	}
}

// TestFalseAlarms counts how often two equal arms of five paired seeds pass the
// rule of the claims, the sign in all seeds: 1/32 by construction.
func TestFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	alarms, trials := 0, 20000
	for range trials {
		k := 0
		for range 5 {
			if rng.NormFloat64() > rng.NormFloat64() {
				k++
			}
		}
		if Consistent(k, 5) {
			alarms++
		}
	}
	if share := float64(alarms) / float64(trials); math.Abs(share-1.0/32) > 0.004 {
		t.Errorf("equal arms pass in %.4f of the trials, want 0.0312", share)
	}
}

// TestIntervalOfKnownData: with two values the bootstrap means are lo, the
// middle and hi with weights 1/4, 1/2, 1/4, so the percentiles are the values.
func TestIntervalOfKnownData(t *testing.T) {
	if got, want := Mean([]float64{1, 3}), (Interval{2, 1, 3, 2}); got != want {
		t.Errorf("mean of 1 and 3: %+v, want %+v", got, want)
	}
	if got, want := Mean([]float64{4, 4, 4}), (Interval{4, 4, 4, 3}); got != want {
		t.Errorf("mean of constants: %+v, want %+v", got, want)
	}
	if got, want := Mean([]float64{7}), (Interval{7, 7, 7, 1}); got != want {
		t.Errorf("one value: %+v, want %+v", got, want)
	}
	r := Ratio([]float64{2, 8}, []float64{1, 1})
	if math.Abs(r.Estimate-4) > 1e-12 || math.Abs(r.Low-2) > 1e-12 || math.Abs(r.High-8) > 1e-12 {
		t.Errorf("ratios 2 and 8: %+v, want 4 in [2, 8]", r)
	}
	if r := Ratio([]float64{0, 0}, []float64{0, 0}); !math.IsNaN(r.Estimate) {
		t.Errorf("zero over zero: %+v, want NaN", r)
	}
	if r := Ratio([]float64{1, 1}, []float64{0, 0}); !math.IsInf(r.Low, 1) {
		t.Errorf("one over zero: %+v, want +Inf", r)
	}
}

// TestTests compares with published values: Fisher's exact test by hand
// (hypergeometric sums), rank correlations with ties by the definition.
func TestTests(t *testing.T) {
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 5e-4 {
			t.Errorf("%s: %.4f, want %.4f", name, got, want)
		}
	}
	near("Fisher 5/5 0/5", Fisher(5, 0, 0, 5), 2.0/252)
	near("Fisher 5/5 1/5", Fisher(5, 0, 1, 4), 0.0476)
	near("Fisher 4/5 0/5", Fisher(4, 1, 0, 5), 0.0476)
	near("Fisher 3/5 0/5", Fisher(3, 2, 0, 5), 0.1667)
	near("Fisher tea", Fisher(3, 1, 1, 3), 0.4857) // Fisher 1935: the lady tasting tea, two-sided
	near("Spearman", Spearman([]float64{1, 2, 3, 4}, []float64{10, 20, 40, 30}), 0.8)
	near("Spearman ties", Spearman([]float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}), 0.9487)
	near("Kendall", Kendall([]float64{1, 2, 3, 4}, []float64{1, 2, 4, 3}), 4.0/6)
	near("slope", Slope([]float64{0, 1, 2}, []float64{1, 3, 5}), 2)
	near("R2", RSquared([]float64{0, 1, 2, 3}, []float64{0, 2, 2, 4}), 0.9)
}

func TestConsistent(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want bool
	}{{5, 5, true}, {4, 5, false}, {9, 10, true}, {8, 10, false}, {1, 1, true}, {0, 0, false}, {18, 20, true}} {
		if got := Consistent(c.k, c.n); got != c.want {
			t.Errorf("%d of %d: %v", c.k, c.n, got)
		}
	}
}

func TestEquivalent(t *testing.T) {
	for _, c := range []struct {
		i    Interval
		want bool
	}{
		{Interval{0, -0.1, 0.1, 5}, true}, {Interval{0, -0.1, 0.3, 5}, false},
		{Interval{0, -0.3, 0.1, 5}, false}, {Interval{0, 0, 0, 1}, false},
	} {
		if got := Equivalent(c.i, 0.2); got != c.want {
			t.Errorf("%+v: %v", c.i, got)
		}
	}
}
