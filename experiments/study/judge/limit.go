package judge

import (
	"fmt"
	"math"

	"driftlab/results/stats"
)

// What a declared check needs of its interval.
const (
	NeedsAbove  = "above"
	NeedsBelow  = "below"
	NeedsWithin = "within"
)

// LimitRatio checks that a ratio of two limits lies above or below a bound, or within a factor of it around 1. A limit beyond the rates that
// were tried gives a range, whose ends count.
func LimitRatio(name string, r stats.Limit, needs string, bound float64) Check {
	c := Check{Name: name, Level: Natural, Value: stats.Interval{Estimate: r.From, Low: r.Low, High: r.High, N: r.Units}, P: r.P}
	if !r.Known() {
		c.Value.Estimate = math.NaN()
	}
	i := stats.Interval{Estimate: r.Low, Low: r.Low, High: r.High, N: r.Units} // a range decides by its interval
	switch needs {
	case NeedsAbove:
		c.Needs, c.Outcome = fmt.Sprintf("interval above %v", bound), mark(i, i.Low > bound, i.High < 1, i.High < bound)
	case NeedsBelow:
		c.Needs, c.Outcome = fmt.Sprintf("interval below %v", bound), mark(i, i.High < bound, i.Low > 1, i.Low > bound)
	default:
		c.Needs, c.Outcome = fmt.Sprintf("interval within a factor of %v", bound), mark(i, i.Low > 1/bound && i.High < bound, false, i.High < 1/bound || i.Low > bound)
	}
	return c
}

// Difference checks that the mean of paired differences lies above or below a bound, or within it on both sides.
func Difference(name string, differences []float64, needs string, bound float64) Check {
	switch needs {
	case NeedsAbove:
		return Above(Natural, name, differences, bound)
	case NeedsBelow:
		return Below(Natural, name, differences, bound)
	}
	return Inside(Natural, name, differences, bound)
}

// AdjustFamily leaves open those checks of a family of ratios of limits, which differ from 1, that are met, or opposite, only before their
// p-values are adjusted by Holm.
func AdjustFamily(checks []Check) {
	if len(checks) < 2 {
		return
	}
	for i, adjusted := range Adjusted(stats.Map(checks, func(c Check) float64 { return c.P })) {
		if c := &checks[i]; !(adjusted <= Significant) && (c.Outcome == Passed || c.Outcome == Contrary) {
			c.Outcome, c.Needs = Open, c.Needs+", adjusted by Holm"
		}
	}
}
