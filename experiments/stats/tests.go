package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// Positives counts the values above zero.
func Positives(x []float64) int {
	n := 0
	for _, v := range x {
		if v > 0 {
			n++
		}
	}
	return n
}

// SignTest is the one-sided p-value of at least k successes in n fair coin
// tosses: 0.031 for 5 of 5, 0.011 for 9 of 10.
func SignTest(k, n int) float64 {
	if k < 0 || k > n {
		panic(fmt.Sprintf("stats: SignTest of %d in %d", k, n))
	}
	if k == 0 {
		return 1
	}
	return 1 - distuv.Binomial{N: float64(n), P: 0.5}.CDF(float64(k-1))
}

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
		return math.Exp(combin.LogGeneralizedBinomial(float64(first), float64(k)) +
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
