package stats

import (
	"math"

	"driftlab/precision/elementary"
)

// level is the two-sided confidence of every interval.
const level = 0.95

// Interval is an estimate with its 95 % interval. With fewer than two values
// there is no interval: Low and High equal the estimate and N says so.
type Interval struct {
	// Estimate is the statistic of the data itself.
	Estimate float64 `json:"estimate"`
	// Low and High are the ends of the interval.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// N is the number of values: models or seeds as a rule, trials or events where
	// something is counted.
	N int `json:"n"`
}

// T is the mean of x with its interval by Student's t: mean ± t(0.975, n-1) s/√n.
// A value that is not finite leaves the ends NaN.
func T(x []float64) Interval {
	mean, of := meanAndError(x)
	if len(x) < 2 {
		return Interval{mean, mean, mean, len(x)}
	}
	half := float64(studentQuantile(float64(len(x)-1)) * of)
	return Interval{mean, mean - half, mean + half, len(x)}
}

// Within cuts the ends of an interval to the range that its figure can have: the interval by Student's t of a few pass rates
// ends far outside.
func (i Interval) Within(low, high float64) Interval {
	i.Low, i.High = min(max(i.Low, low), high), min(max(i.High, low), high)
	return i
}

// TRatio is the geometric mean of the paired ratios a[i]/b[i] with the interval
// by Student's t on their logarithms. A pair of two zeros has nothing to compare
// and makes everything NaN, and so does a negative ratio; one zero makes the
// estimate 0 or +Inf and the ends NaN. It panics on lengths that differ.
func TRatio(a, b []float64) Interval {
	paired("TRatio", a, b)
	i := T(Logs(Quotients(a, b)))
	return Interval{elementary.Exp(i.Estimate), elementary.Exp(i.Low), elementary.Exp(i.High), i.N}
}

// meanAndError is the mean of x and its standard error, s/√n; the latter is NaN
// for fewer than two values and where one is not finite.
func meanAndError(x []float64) (mean, of float64) {
	if len(x) > 1 && allEqual(x) && !math.IsInf(x[0], 0) {
		return x[0], 0 // which rounding of the sum could miss
	}
	mean = Average(x)
	return mean, Deviation(x) / math.Sqrt(float64(len(x)))
}

func allEqual(x []float64) bool {
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return true
}
