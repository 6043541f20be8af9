package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Maximum likelihood has no estimate where a rate separates the outcomes; Firth's is the posterior mode under Jeffreys' prior,
// which for a single binomial share is (s + 1/2)/(n + 1) and for two shares, a saturated model, that of each.
func TestFirthSaturated(t *testing.T) {
	for _, k := range []struct {
		name string
		s, n [2]float64
	}{{"separated", [2]float64{5, 0}, [2]float64{5, 5}}, {"mixed", [2]float64{7, 2}, [2]float64{10, 8}}, {"unequal", [2]float64{3, 0}, [2]float64{3, 12}}} {
		intercept, slope := Firth([]float64{2, 5}, k.s[:], k.n[:])
		for i, x := range []float64{2, 5} {
			got, want := intercept+slope*x, math.Log((k.s[i]+.5)/(k.n[i]-k.s[i]+.5))
			if math.Abs(got-want) > 1e-6 {
				t.Errorf("%s: logit %v at %v, want %v", k.name, got, x, want)
			}
		}
	}
}

// ladder are trials of some units at rates from low by factors of 2, where a unit fails above its own limit.
func ladder(limits []float64, low float64, rungs int) (list []Trial) {
	for u, limit := range limits {
		for k := range rungs {
			rate := math.Ldexp(low, k)
			list = append(list, Trial{uint64(u), rate, rate < limit})
		}
	}
	return list
}

func TestLimitOf(t *testing.T) {
	inf := math.Inf(1)
	for _, k := range []struct {
		name           string
		trials         []Trial
		from, to       float64 // of the limit
		low, high, tol float64
	}{
		{"separated", ladder([]float64{6e-4, 6e-4, 6e-4, 6e-4}, 1.25e-4, 5), 7.07e-4, 7.07e-4, 5e-4, 1e-3, .02},
		{"all succeed", ladder([]float64{1, 1, 1}, 1e-3, 3), 4e-3, inf, 4e-3, inf, 1e-9},
		{"all fail", ladder([]float64{0, 0, 0}, 6.25e-5, 4), 0, 6.25e-5, 0, 6.25e-5, 1e-9},
		{"one rate, all succeed", ladder([]float64{1, 1, 1}, 1e-3, 1), 1e-3, inf, 1e-3, inf, 1e-9},
		{"one rate, mixed", ladder([]float64{1, 0, 1, 0}, 1e-3, 1), 0, inf, 0, inf, 1e-9},
		{"more succeed at higher rates", []Trial{{1, 1, false}, {1, 2, true}, {2, 1, false}, {2, 2, true}}, 0, inf, 0, inf, 1e-9},
		{"one unit", ladder([]float64{6e-4}, 1.25e-4, 5), 7.07e-4, 7.07e-4, 5e-4, 1e-3, .03},
		{"none", nil, 0, inf, 0, inf, 0},
	} {
		l := LimitOf(k.trials)
		for i, pair := range [][2]float64{{l.From, k.from}, {l.To, k.to}, {l.Low, k.low}, {l.High, k.high}} {
			if pair[0] != pair[1] && !(math.Abs(pair[0]-pair[1]) <= k.tol*pair[1]) {
				t.Errorf("%s: figure %d is %v, want %v (%+v)", k.name, i, pair[0], pair[1], l)
			}
		}
	}
}

// TestLimitOfFewRates: shares of all sizes at two rates have a limit, or a range of it, also where half of the trials succeed at the
// highest rate, which is the limit then.
func TestLimitOfFewRates(t *testing.T) {
	for n := 1.0; n <= 10; n++ {
		for first := 0.0; first <= n; first++ {
			for second := 0.0; second <= n; second++ {
				for _, low := range []float64{1.25e-4, 2.5e-4, 5e-4} {
					d := limitRange([]float64{low, 2 * low}, []float64{first, second}, []float64{n, n}, first+second, 2*n)
					if !(d.low <= d.from && d.from <= d.to && d.to <= d.high) {
						t.Errorf("%g and %g of %g at %g: %+v", first, second, n, low, d)
					}
				}
			}
		}
	}
}

// An arm whose limit lies beyond the rates gives a bound of the ratio, never a number.
func TestLimitRatioBeyondTheRates(t *testing.T) {
	base, above := ladder([]float64{6e-4, 6e-4, 6e-4}, 1.25e-4, 5), ladder([]float64{1, 1, 1}, 1.25e-4, 6)
	r := LimitRatio(above, base)
	if want := 4e-3 / 7.07e-4; r.Known() || math.Abs(r.From-want) > .1 || math.Abs(r.Low-4) > .1 || !math.IsInf(r.High, 1) {
		t.Errorf("%+v", r)
	}
	if r := LimitRatio(above, above); r.From != 0 || !math.IsInf(r.To, 1) {
		t.Errorf("two unknown limits: %+v", r)
	}
	if r := LimitRatio(base, base); r.From != 1 || r.To != 1 || math.Abs(r.Low-.5) > 1e-9 || math.Abs(r.High-2) > 1e-9 {
		t.Errorf("an arm over itself: %+v", r)
	}
}

// The interval of the limit covers that of the population about as often as it says, over base models whose limits differ, and the
// pairing narrows that of the ratio: a model's limits rise and fall together.
func TestLimitCoverage(t *testing.T) {
	const studies, models, truth, factor = 25, 10, 7e-4, 2
	rng := rand.New(rand.NewPCG(1, 2))
	covered, ratios, narrower := 0, 0, 0
	for range studies {
		var a, b []float64
		for range models {
			own := truth * math.Exp(.5*rng.NormFloat64())
			a, b = append(a, own), append(b, factor*own)
		}
		l, r := LimitOf(ladder(a, 6.25e-5, 8)), LimitRatio(ladder(b, 6.25e-5, 8), ladder(a, 6.25e-5, 8))
		if l.Low <= truth && truth <= l.High {
			covered++
		}
		if r.Low <= factor*1.0001 && factor*.9999 <= r.High { // a model whose limits part by a rung exactly has a ratio without an error
			ratios++
		}
		if r.High/r.Low < l.High/l.Low*l.High/l.Low {
			narrower++
		}
	}
	if covered < 20 || ratios < 20 || narrower < 23 {
		t.Errorf("of %d studies: limit covered in %d, ratio in %d, paired narrower in %d", studies, covered, ratios, narrower)
	}
}
