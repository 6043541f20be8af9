package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestClopperPearson: R's documentation of binom.test (Mendel's peas), the four rows
// of the exact method in Newcombe (Statistics in Medicine 17, 1998, table I), and
// the ends by hand: none of n has (0.975)^(1/n) left.
func TestClopperPearson(t *testing.T) {
	for _, c := range []struct {
		k, n          int
		low, high, by float64
	}{
		{682, 925, 0.7076683, 0.7654066, 5e-8},
		{81, 263, 0.2527, 0.3676, 5e-5}, {15, 148, 0.0578, 0.1617, 5e-5}, {0, 20, 0, 0.1684, 5e-5}, {1, 29, 0.0009, 0.1776, 5e-5},
		{0, 3, 0, 1 - math.Cbrt(0.025), 1e-15}, {3, 3, math.Cbrt(0.025), 1, 1e-15}, {1, 1, 0.025, 1, 1e-15},
	} {
		i := ClopperPearson(c.k, c.n)
		within(t, "low", i.Low, c.low, c.by)
		within(t, "high", i.High, c.high, c.by)
		if i.N != c.n || i.Estimate != float64(c.k)/float64(c.n) {
			t.Errorf("%d of %d: %+v", c.k, c.n, i)
		}
	}
	if got := ClopperPearson(0, 0); !same(got, Interval{math.NaN(), 0, 1, 0}) {
		t.Errorf("no trials: %+v", got)
	}
}

// TestClopperPearsonTails: at each end the binomial tail, summed term by term, is 2.5 %.
func TestClopperPearsonTails(t *testing.T) {
	atLeast := func(k, n int, p float64) float64 {
		sum := 0.0
		for j := k; j <= n; j++ {
			ways, _ := new(big.Int).Binomial(int64(n), int64(j)).Float64()
			sum += ways * math.Pow(p, float64(j)) * math.Pow(1-p, float64(n-j))
		}
		return sum
	}
	for n := 1; n <= 40; n += 3 {
		for k := range n + 1 {
			i := ClopperPearson(k, n)
			if k > 0 {
				within(t, "k and more at the low end", atLeast(k, n, i.Low), 0.025, 1e-12)
			}
			if k < n {
				within(t, "k and fewer at the high end", 1-atLeast(k+1, n, i.High), 0.025, 1e-12)
			}
		}
	}
}

// TestRateRatio: R's documentation of poisson.test (eba1977, Fredericia against three
// other cities): 1.971488, 0.8584264 to 4.2772659. Without an event on one side,
// by the ends of Clopper and Pearson.
func TestRateRatio(t *testing.T) {
	i := RateRatio(11, 800, 6+8+7, 1083+1050+878)
	within(t, "ratio", i.Estimate, 1.971488, 5e-7)
	within(t, "low", i.Low, 0.8584264, 5e-8)
	within(t, "high", i.High, 4.2772659, 5e-8)
	if i.N != 32 {
		t.Errorf("%d events", i.N)
	}
	low := math.Cbrt(0.025)
	for _, c := range []struct {
		got, want Interval
	}{
		{RateRatio(3, 100, 0, 200), Interval{math.Inf(1), 2 * low / (1 - low), math.Inf(1), 3}},
		{RateRatio(0, 100, 3, 200), Interval{0, 0, 2 * (1 - low) / low, 3}},
		{RateRatio(0, 100, 0, 200), Interval{math.NaN(), 0, math.Inf(1), 0}},
	} {
		g, w := c.got, c.want
		near := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) || relative(x, y) < 1e-13 }
		if !near(g.Estimate, w.Estimate) || !near(g.Low, w.Low) || !near(g.High, w.High) || g.N != w.N {
			t.Errorf("%+v, want %+v", g, w)
		}
	}
}

// TestRateRatioCoverage: an exact interval holds the truth at least as often as it says.
func TestRateRatioCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	events := func(n int, rate float64) (k int) {
		for range n {
			if rng.Float64() < rate {
				k++
			}
		}
		return k
	}
	const trials = 2000
	held := 0
	for range trials {
		if i := RateRatio(events(500, 0.03), 500, events(1000, 0.01), 1000); i.Low <= 3 && 3 <= i.High {
			held++
		}
	}
	if share := float64(held) / trials; share < 0.945 {
		t.Errorf("covers the truth in %.3f of the trials", share)
	}
}

// TestPool adds counts, and tells what is too few by the events alone.
func TestPool(t *testing.T) {
	pooled := Pool([]Count{{5, 100}, {0, 300}, {45, 50}})
	if want := (Count{50, 450}); pooled != want || pooled.Few() || !(Count{49, 1_000_000}).Few() {
		t.Errorf("%+v, few: %v", pooled, pooled.Few())
	}
	if got, want := pooled.Share(), ClopperPearson(50, 450); got != want {
		t.Errorf("share %+v, want %+v", got, want)
	}
}
