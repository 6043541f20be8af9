package stats

import (
	"gonum.org/v1/gonum/stat/combin"

	"driftlab/precision/elementary"
)

// Consistent is the ordering rule of the claims: the sign in every seed, or
// with ten seeds and more in nine tenths of them.
func Consistent(k, n int) bool {
	if n < 10 {
		return n > 0 && k == n
	}
	return 10*k >= 9*n
}

// Fisher is the two-sided p-value of Fisher's exact test on the table of
// a successes and b failures in one arm, c and d in the other: the probability,
// with the margins given, of all tables no likelier than this one.
func Fisher(a, b, c, d int) float64 {
	first, successes, all := a+b, a+c, a+b+c+d
	probability := func(k int) float64 {
		return elementary.Exp(combin.LogGeneralizedBinomial(float64(first), float64(k)) +
			combin.LogGeneralizedBinomial(float64(all-first), float64(successes-k)) -
			combin.LogGeneralizedBinomial(float64(all), float64(successes)))
	}
	// Tables that are exactly as likely differ by rounding.
	bound := probability(a) * (1 + 1e-9)
	p := 0.0
	for k := max(0, successes-(all-first)); k <= min(first, successes); k++ {
		if q := probability(k); q <= bound {
			p += q
		}
	}
	return min(p, 1)
}

// Equivalent reports whether the whole interval lies inside ±delta: the test
// for "no effect". One value has no interval and is never equivalent.
func Equivalent(i Interval, delta float64) bool {
	return i.N > 1 && i.Low > -delta && i.High < delta
}
