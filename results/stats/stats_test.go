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
		{"five seeds", 5, 100, normal, 0.77, 0.90},
		{"twenty seeds", 20, 100, normal, 0.89, 0.97},
		{"twenty seeds, skewed", 20, 100, skewed, 0.86, 0.96},
	} {
		rng := rand.New(rand.NewPCG(7, uint64(c.n)))
		held := 0
		x := make([]float64, c.n)
		for range c.trials {
			for i := range x {
				x[i] = c.draw(rng)
			}
			if i := bootstrapOf(x...); i.Low <= 0 && 0 <= i.High {
				held++
			}
		}
		if share := float64(held) / float64(c.trials); share < c.low || share > c.high {
			t.Errorf("%s: covers the truth in %.3f of the trials, want %v to %v", c.name, share, c.low, c.high)
		}
	}
}

// bootstrapOf is the bootstrap of a mean.
func bootstrapOf(x ...float64) Interval {
	var drawn []float64
	return Bootstrap(len(x), func(sample []int) float64 {
		drawn = drawn[:0]
		for _, i := range sample {
			drawn = append(drawn, x[i])
		}
		return Average(drawn)
	})
}

// TestIntervalOfKnownData: with two values the bootstrap means are lo, the
// middle and hi with weights 1/4, 1/2, 1/4, so the percentiles are the values.
func TestIntervalOfKnownData(t *testing.T) {
	if got, want := bootstrapOf(1, 3), (Interval{2, 1, 3, 2}); got != want {
		t.Errorf("mean of 1 and 3: %+v, want %+v", got, want)
	}
	if got, want := bootstrapOf(4, 4, 4), (Interval{4, 4, 4, 3}); got != want {
		t.Errorf("mean of constants: %+v, want %+v", got, want)
	}
	if got, want := bootstrapOf(7), (Interval{7, 7, 7, 1}); got != want {
		t.Errorf("one value: %+v, want %+v", got, want)
	}
}

// TestAverageOfNothing: values that cancel have the mean 0, not what rounding leaves of their sum; a small mean stays, and Inf and NaN do.
func TestAverageOfNothing(t *testing.T) {
	if sum := 0.1 + 0.2; Average([]float64{sum, -0.3}) != 0 || Average([]float64{sum, -0.3, 1e-12}) < 3e-13 {
		t.Errorf("0.1 + 0.2 - 0.3 has the mean %g, with 1e-12 %g", Average([]float64{sum, -0.3}), Average([]float64{sum, -0.3, 1e-12}))
	}
	if inf := math.Inf(1); Average([]float64{inf, 1}) != inf || !math.IsNaN(Average([]float64{inf, -inf})) || Average([]float64{1e-300}) != 1e-300 {
		t.Error("the mean of an infinity, of two, or of a tiny value")
	}
}

// TestTests compares rank correlations, with ties by the definition, and fits with values by hand.
func TestTests(t *testing.T) {
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 5e-4 {
			t.Errorf("%s: %.4f, want %.4f", name, got, want)
		}
	}
	near("Spearman", Spearman([]float64{1, 2, 3, 4}, []float64{10, 20, 40, 30}), 0.8)
	near("Spearman ties", Spearman([]float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}), 0.9487)
	near("Kendall", Kendall([]float64{1, 2, 3, 4}, []float64{1, 2, 4, 3}), 4.0/6)
	near("Kendall with ties", Kendall([]float64{1, 2, 3, 4}, []float64{1, 1, 2, 2}), 4.0/6)
	near("slope", Slope([]float64{0, 1, 2}, []float64{1, 3, 5}), 2)
	near("R2", RSquared([]float64{0, 1, 2, 3}, []float64{0, 2, 2, 4}), 0.9)
}
