package stats

import (
	"math"
	"sort"
	"sync"

	"driftlab/precision/elementary"
)

// power is the probability with which a test should detect a true effect.
const power = 0.8

// mostReplications is where Enough gives up.
const mostReplications = 10_000

// SmallestEffect is the smallest true mean, of values with the given standard
// deviation, that the two-sided 5 % t-test of n of them detects with 80 % power, by
// the noncentral t; +Inf for fewer than two.
func SmallestEffect(sd float64, n int) float64 {
	if n < 2 {
		return math.Inf(1)
	}
	return smallestShift(n) * (sd / math.Sqrt(float64(n)))
}

// mostShift is the largest noncentrality that is looked at, that of the test of two values is 16.3: beyond some 37 its Poisson weights are
// too small for a float64.
const mostShift = 32

// shifts has what smallestShift has found: each takes milliseconds, and the same ones are asked
// for again and again.
var shifts sync.Map

// smallestShift is the noncentrality that the test of n values detects with 80 % power.
func smallestShift(n int) float64 {
	if known, ok := shifts.Load(n); ok {
		return known.(float64)
	}
	df := float64(n - 1)
	critical := StudentQuantile(df)
	shift := root(0, mostShift, func(shift float64) bool { return rejects(shift, critical, df) > power })
	shifts.Store(n, shift)
	return shift
}

// Enough is the smallest number of values with the given standard deviation of
// which the two-sided 5 % t-test detects a true mean of that size with 80 % power;
// mostReplications stands for so many and more.
func Enough(effect, sd float64) int {
	return 2 + sort.Search(mostReplications-2, func(i int) bool { return SmallestEffect(sd, 2+i) <= math.Abs(effect) })
}

// rejects is the probability that the noncentral t with df degrees of freedom and
// noncentrality shift lies beyond ±critical. Its square is a noncentral F: tails
// of the beta distribution, mixed by a Poisson distribution of mean shift²/2
// (Johnson, Kotz and Balakrishnan, chapter 30).
func rejects(shift, critical, df float64) float64 {
	square := critical * critical / df
	x, y := 1/(1+1/square), 1/(1+square)
	mean := shift * shift / 2
	weight, sum := elementary.Exp(-mean), 0.0
	for j := 0.0; j < mean || weight > 1e-18; j++ {
		_, outside := incompleteBeta(j+0.5, df/2, x, y)
		sum += float64(weight * outside)
		weight *= mean / (j + 1)
	}
	return sum
}
