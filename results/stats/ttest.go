package stats

import "math"

// TTest is the two-sided p-value of the t-test that x has the given mean; NaN for
// fewer than two values and where one is not finite. Values without spread have
// p 1 if they are that mean and 0 if not.
func TTest(x []float64, mean float64) float64 {
	return min(1, 2*min(OneSided(x, mean), OneSided(Negated(x), -mean)))
}

// OneSided is the p-value of the t-test against the hypothesis that the mean of x
// is at most the given one; NaN as in TTest. Values without spread have p 0 above
// it and 1 otherwise.
func OneSided(x []float64, mean float64) float64 {
	have, of := meanAndError(x)
	switch {
	case len(x) < 2 || math.IsNaN(of):
		return math.NaN()
	case of == 0 && have > mean:
		return 0
	case of == 0:
		return 1
	}
	return studentTail((have-mean)/of, float64(len(x)-1))
}

// TOST is the p-value of two one-sided t-tests (Schuirmann 1987) against the
// hypothesis that the mean of x is delta or more away from zero: the larger of
// the two. A small p says "no difference beyond delta".
func TOST(x []float64, delta float64) (p float64) {
	return max(OneSided(x, -delta), OneSided(Negated(x), -delta))
}
