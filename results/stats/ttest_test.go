package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sleep are the differences of Student's two soporifics by patient (Biometrika 1908;
// R's data set sleep), zeaMays Darwin's fifteen pairs of maize in eighths of an
// inch (Fisher, The Design of Experiments, 1935, section 17).
var (
	sleep   = []float64{-1.2, -2.4, -1.3, -1.3, 0, -1, -1.8, -0.8, -4.6, -1.4}
	zeaMays = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}
)

func within(t *testing.T, name string, got, want, by float64) {
	t.Helper()
	if !(math.Abs(got-want) <= by) {
		t.Errorf("%s: %.10g, want %.10g", name, got, want)
	}
}

// TestPublishedT: R's documentation of t.test, paired on sleep (t = -4.0621, df = 9,
// p = 0.002833, interval -2.4598858 to -0.7001142), Fisher's p of 4.970 % for the
// maize, and the vignette of R's TOSTER, paired on sleep with bounds of 0.5
// (t = -2.777, p = 0.989 at the lower one).
func TestPublishedT(t *testing.T) {
	i := T(sleep)
	within(t, "sleep", i.Estimate, -1.58, 1e-12)
	within(t, "sleep, low", i.Low, -2.4598858, 5e-8)
	within(t, "sleep, high", i.High, -0.7001142, 5e-8)
	within(t, "sleep, p", TTest(sleep, 0), 0.002833, 5e-7)
	within(t, "maize, p", TTest(zeaMays, 0), 0.04970, 5e-6)
	within(t, "sleep, TOST", TOST(sleep, 0.5), 0.989, 5e-4)
}

// TestT: intervals that can be told by hand, and what has none.
func TestT(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	i := T([]float64{1, 3}) // deviation √2, error 1, t(0.975, 1) = tan(0.475π)
	within(t, "1 and 3, low", i.Low, 2-12.706204736174694, 1e-11)
	within(t, "1 and 3, high", i.High, 2+12.706204736174694, 1e-11)
	for _, c := range []struct {
		x    []float64
		want Interval
	}{
		{[]float64{7}, Interval{7, 7, 7, 1}}, {[]float64{0.1, 0.1, 0.1}, Interval{0.1, 0.1, 0.1, 3}},
		{[]float64{1, inf}, Interval{inf, nan, nan, 2}}, {[]float64{inf, inf}, Interval{inf, nan, nan, 2}},
		{[]float64{1, nan, 2}, Interval{nan, nan, nan, 3}}, {nil, Interval{nan, nan, nan, 0}},
	} {
		if got := T(c.x); !same(got, c.want) {
			t.Errorf("T(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}

// same compares intervals, NaN with NaN.
func same(a, b Interval) bool {
	equal := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return equal(a.Estimate, b.Estimate) && equal(a.Low, b.Low) && equal(a.High, b.High) && a.N == b.N
}

func TestTRatio(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	// By hand: logarithms ln 2 and ln 8, mean ln 4, error ln 2.
	i, spread := TRatio([]float64{2, 8}, []float64{1, 1}), math.Exp(12.706204736174694*math.Ln2)
	within(t, "2 and 8", i.Estimate, 4, 1e-12)
	within(t, "2 and 8, low", i.Low*spread, 4, 1e-9)
	within(t, "2 and 8, high", i.High/spread, 4, 1e-9)
	for _, c := range []struct {
		a, b []float64
		want Interval
	}{
		{[]float64{0, 1}, []float64{0, 1}, Interval{nan, nan, nan, 2}},
		{[]float64{1, 1}, []float64{0, 1}, Interval{inf, nan, nan, 2}},
		{[]float64{0, 1}, []float64{1, 1}, Interval{0, nan, nan, 2}},
		{[]float64{0, 1}, []float64{1, 0}, Interval{nan, nan, nan, 2}},
		{[]float64{-1, 1}, []float64{1, 1}, Interval{nan, nan, nan, 2}},
	} {
		if got := TRatio(c.a, c.b); !same(got, c.want) {
			t.Errorf("TRatio(%v, %v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestTCoverage counts how often the interval holds the truth: of ten normal
// values, and of the ratio of lognormal ones; within three standard errors of 95 %.
func TestTCoverage(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	const trials, n = 4000, 10
	mean, ratio := 0, 0
	d, a, b := make([]float64, n), make([]float64, n), make([]float64, n)
	for range trials {
		for i := range n {
			d[i], a[i], b[i] = 3+rng.NormFloat64(), 5*math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64())
		}
		if i := T(d); i.Low <= 3 && 3 <= i.High {
			mean++
		}
		if i := TRatio(a, b); i.Low <= 5 && 5 <= i.High {
			ratio++
		}
	}
	within(t, "coverage of the mean", float64(mean)/trials, 0.95, 0.0104)
	within(t, "coverage of the ratio", float64(ratio)/trials, 0.95, 0.0104)
}

// TestOneSided: the two sides add up to one, and the smaller of them doubled is
// the two-sided p; values without spread and too few of them.
func TestOneSided(t *testing.T) {
	for _, mean := range []float64{-3, -1.58, 0, 2} {
		up, down := OneSided(sleep, mean), OneSided(Negated(sleep), -mean)
		within(t, "both sides", up+down, 1, 1e-14)
		within(t, "two-sided", TTest(sleep, mean), 2*min(up, down), 1e-14)
	}
	for _, c := range []struct {
		x                   []float64
		mean, one, two, tst float64
	}{
		{[]float64{2, 2, 2}, 1, 0, 0, 1}, {[]float64{2, 2, 2}, 2, 1, 1, 1}, {[]float64{2, 2, 2}, 3, 1, 0, 0}, {[]float64{0, 0}, 0.1, 1, 0, 0},
		{[]float64{2}, 0, math.NaN(), math.NaN(), math.NaN()}, {[]float64{2, math.NaN()}, 0, math.NaN(), math.NaN(), math.NaN()},
		{[]float64{2, math.Inf(1)}, 0, math.NaN(), math.NaN(), math.NaN()},
	} {
		got := Interval{OneSided(c.x, c.mean), TTest(c.x, c.mean), TOST(c.x, c.mean), 0}
		if want := (Interval{c.one, c.two, c.tst, 0}); !same(got, want) {
			t.Errorf("one-sided, two-sided, TOST of %v at %v: %v, want %v", c.x, c.mean, got, want)
		}
	}
}

// TestTOST: at most 5 % of samples whose mean is exactly delta are called
// equivalent, nearly 5 % where the other bound is far; and p falls below 5 %
// exactly where the 90 % interval lies inside (Schuirmann 1987).
func TestTOST(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const trials, n, t95 = 10_000, 10, 1.8331129326536335 // t(0.95, 9), any table
	x := make([]float64, n)
	found := map[float64]int{}
	for range trials {
		for _, delta := range []float64{0.3, 3} {
			for i := range x {
				x[i] = delta + rng.NormFloat64()
			}
			p := TOST(x, delta)
			mean, of := meanAndError(x)
			if inside := mean-t95*of > -delta && mean+t95*of < delta; inside != (p < 0.05) {
				t.Fatalf("TOST of %v is %v; the interval lies inside: %v", x, p, inside)
			}
			if p < 0.05 {
				found[delta]++
			}
		}
	}
	within(t, "size, bounds apart", float64(found[3])/trials, 0.05, 0.0066)
	if near := found[0.3]; near > trials/20 {
		t.Errorf("size, bounds near: %d of %d", near, trials)
	}
}
