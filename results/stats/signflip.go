package stats

import (
	"math"
	"math/rand/v2"
)

// exactFlips is the largest number of pairs whose signs are all tried, which are
// 2^20; beyond it drawnFlips of them are drawn.
const exactFlips = 20

// jointFlips is the same for several lists at once.
const jointFlips = 16

// drawnFlips is how many sign patterns are drawn beyond those numbers.
const drawnFlips = 100_000

// flipSeed starts the generator of the drawn patterns: p is a function of the
// data alone.
const flipSeed = 0xf11b

// SignFlip is the exact two-sided p-value of the paired sign-flip permutation test
// (Fisher 1935, section 21) on differences of pairs: the share of all 2^n ways to
// give them signs whose sum is at least as far from zero as theirs. Sums that are
// as far but for rounding count, and differences of zero stay among them. For more
// than 20 pairs the share is of patterns drawn, with the data's own added to both
// counts. Without a pair, and where a difference is not finite, it is NaN.
func SignFlip(d []float64) float64 {
	sum, size := 0.0, 0.0
	for _, v := range d {
		sum, size = sum+v, size+math.Abs(v)
	}
	if len(d) == 0 || math.IsNaN(size) || math.IsInf(size, 0) {
		return math.NaN()
	}
	bound := math.Abs(sum) - float64(1e-12*size)
	if len(d) <= exactFlips {
		return float64(beyond(d, 0, bound)) / float64(int(1)<<len(d))
	}
	far := 0
	for signs := range signPatterns(len(d)) {
		if math.Abs(Dot(d, signs)) >= bound {
			far++
		}
	}
	return float64(far) / float64(patterns(len(d)))
}

// beyond counts the signs of d that, added to sum, come to bound or farther from zero.
func beyond(d []float64, sum, bound float64) int {
	if len(d) > 0 {
		return beyond(d[1:], sum+d[0], bound) + beyond(d[1:], sum-d[0], bound)
	}
	if math.Abs(sum) >= bound {
		return 1
	}
	return 0
}

// signPatterns yields ways to give n pairs signs, all in the same memory and the data's
// own first: every one of them for few pairs, else drawnFlips drawn ones in addition.
func signPatterns(n int) func(yield func(signs []float64) bool) {
	return func(yield func([]float64) bool) {
		signs := make([]float64, n)
		for i := range signs {
			signs[i] = 1
		}
		rng := rand.New(rand.NewPCG(flipSeed, uint64(n)))
		for left := patterns(n) - 1; yield(signs) && left > 0; left-- {
			for i := range signs {
				if n <= jointFlips {
					signs[i] = -signs[i] // counts in binary
					if signs[i] < 0 {
						break
					}
				} else if signs[i] = 1; rng.Uint64()&1 == 0 {
					signs[i] = -1
				}
			}
		}
	}
}

// patterns is how many ways signPatterns yields.
func patterns(n int) int {
	if n <= jointFlips {
		return 1 << n
	}
	return drawnFlips + 1
}
