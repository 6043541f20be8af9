// Package judge applies the tests of results/stats to cells: it is the one place that imports the paired ones. A check
// compares a statistic, a value for each unit (a model, a warm start, a seed), with a threshold; a verdict follows from
// the checks of a study.
//
// What it is not: it reads no cells and prints nothing.
package judge

import (
	"fmt"
	"math"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// Check is one comparison with a threshold that stands in the claim's file.
type Check struct {
	// Name says what is compared.
	Name string `json:"name"`
	// Level is the provocation.
	Level Level `json:"dose"`
	// Primary marks the check that the verdict rests on.
	Primary bool `json:"primary"`
	// Needs is the threshold in words.
	Needs string `json:"needs"`
	// Value is the statistic with its 95 % interval.
	Value stats.Interval `json:"value"`
	// P is the two-sided p-value against the threshold; NaN where the check is
	// no test.
	P float64 `json:"p"`
	// Power says what this number of replications can find.
	Power Power `json:"power"`
	// Seeds are the statistic's values, one per replication.
	Seeds []float64 `json:"seeds"`
	// Outcome is what became of it.
	Outcome Mark `json:"outcome"`
	// ByRate is the same check at each learning rate alone; nil for a check over one.
	ByRate []RateOutcome `json:"by_rate,omitempty"`
}

// RateOutcome is a check at one learning rate.
type RateOutcome struct {
	Rate    string         `json:"rate"`
	Value   stats.Interval `json:"value"`
	Outcome Mark           `json:"outcome"`
}

// Arithmetic is a check of what follows from declared costs: its draws replicate nothing, so
// that it has neither a p-value nor power.
func Arithmetic(c Check) Check {
	c.Level, c.P, c.Power = Exact, math.NaN(), Power{}
	return c
}

// Power is what a number of replications can find; zero where the check is no
// t-test.
type Power struct {
	// Smallest is the least distance from the threshold that a test at 5 % would
	// find with 80 % power: a difference, or a factor for a ratio.
	Smallest float64 `json:"smallest"`
	Factor   bool    `json:"factor"`
	// Enough is how many replications detect the distance that was measured
	// with 80 % power.
	Enough int `json:"enough"`
}

// power is the power of a t-test of x against a threshold.
func power(x []float64, threshold float64) Power {
	if len(x) < 2 {
		return Power{}
	}
	sd := stats.Deviation(x)
	return Power{Smallest: stats.SmallestEffect(sd, len(x)), Enough: stats.Enough(math.Abs(stats.Average(x)-threshold), sd)}
}

// mark is what becomes of an interval: open where it decides nothing.
func mark(i stats.Interval, passed, contrary, failed bool) Mark {
	switch {
	case math.IsNaN(i.Estimate) || math.IsNaN(i.Low) || math.IsNaN(i.High):
	case passed:
		return Passed
	case contrary:
		return Contrary
	case failed:
		return Failed
	}
	return Open
}

// Ratio checks that the geometric mean of the paired a/b lies above r >= 1, by
// the t-interval of the log-ratio. An interval below 1 is contrary.
func Ratio(d Level, name string, a, b []float64, r float64) Check {
	i := stats.TRatio(a, b)
	return ratio(d, name, a, b, r, fmt.Sprintf("interval above %v", r), mark(i, i.Low > r, i.High < 1, i.High < r), i)
}

// RatioBelow checks that the geometric mean of the paired a/b lies below r <= 1.
// An interval above 1 is contrary.
func RatioBelow(d Level, name string, a, b []float64, r float64) Check {
	i := stats.TRatio(a, b)
	return ratio(d, name, a, b, r, fmt.Sprintf("interval below %v", r), mark(i, i.High < r, i.Low > 1, i.Low > r), i)
}

func ratio(d Level, name string, a, b []float64, r float64, needs string, m Mark, i stats.Interval) Check {
	quotients := stats.Quotients(a, b)
	logs, at := stats.Logs(quotients), elementary.Log(r)
	p := power(logs, at)
	p.Smallest, p.Factor = elementary.Exp(p.Smallest), true
	return Check{Name: name, Level: d, Needs: needs, Value: i, P: stats.TTest(logs, at), Power: p, Seeds: quotients, Outcome: m}
}

// Above checks that the t-interval of x lies above a bound. One below zero is
// contrary, where the bound is not.
func Above(d Level, name string, x []float64, bound float64) Check {
	i := stats.T(x)
	return tTest(d, name, x, bound, fmt.Sprintf("interval above %v", bound),
		mark(i, i.Low > bound, bound >= 0 && i.High < 0, i.High < bound || flat(i, bound)), i)
}

// Below checks that the t-interval of x lies below a bound, as Above.
func Below(d Level, name string, x []float64, bound float64) Check {
	i := stats.T(x)
	return tTest(d, name, x, bound, fmt.Sprintf("interval below %v", bound),
		mark(i, i.High < bound, bound <= 0 && i.Low > 0, i.Low > bound || flat(i, bound)), i)
}

// flat reports that every value is the bound itself.
func flat(i stats.Interval, bound float64) bool { return i.Low == bound && i.High == bound }

// Within checks that the t-interval of x lies inside [low, high].
func Within(d Level, name string, x []float64, low, high float64) Check {
	i := stats.T(x)
	nearest := low
	if math.Abs(i.Estimate-high) < math.Abs(i.Estimate-low) {
		nearest = high
	}
	return tTest(d, name, x, nearest, fmt.Sprintf("interval inside [%v, %v]", low, high),
		mark(i, i.Low >= low && i.High <= high, false, i.Low > high || i.High < low), i)
}

func tTest(d Level, name string, x []float64, at float64, needs string, m Mark, i stats.Interval) Check {
	return Check{Name: name, Level: d, Needs: needs, Value: i, P: stats.TTest(x, at), Power: power(x, at), Seeds: x, Outcome: m}
}

// Proportional checks that the t-interval of an exponent holds 1 and lies above 0.7; one below 1 is
// contrary.
func Proportional(d Level, name string, x []float64) Check {
	i := stats.T(x)
	holdsOne := i.Low <= 1 && i.High >= 1
	return Check{Name: name, Level: d, Needs: "interval holds 1 and lies above 0.7", Value: i, P: stats.TTest(x, 0.7), Seeds: x,
		Outcome: mark(i, holdsOne && i.Low > 0.7, i.High < 1, i.Low > 1)}
}

// Significant is the level of every test.
const Significant = 0.05

// Better checks that of two arms the first is better, by the exact paired
// sign-flip permutation of their differences. The interval next to it is
// Student's.
func Better(d Level, name string, differences []float64) Check {
	i, p := stats.T(differences), stats.SignFlip(differences)
	sure := p < Significant
	return Check{Name: name, Level: d, Needs: "above 0, sign-flip p < 0.05", Value: i, P: p, Power: power(differences, 0),
		Seeds: differences, Outcome: mark(i, sure && i.Estimate > 0, sure && i.Estimate < 0, false)}
}

// Same checks "no difference": two one-sided t-tests for a mean inside ±delta,
// where delta is half of the mean effect of a positive control. A control that
// shows no effect itself leaves the check open.
func Same(d Level, name string, x, control []float64) Check {
	effect := stats.T(control)
	delta := math.Abs(effect.Estimate) / 2
	c := Inside(d, name, x, delta)
	if !(effect.Low > 0 || effect.High < 0) {
		c.Outcome, c.Needs = Open, c.Needs+", of a control that shows no effect"
	}
	return c
}

// Inside is Same with a declared delta.
func Inside(d Level, name string, x []float64, delta float64) Check {
	i, p := stats.T(x), stats.TOST(x, delta)
	nearest := math.Copysign(delta, i.Estimate)
	return Check{Name: name, Level: d, Needs: fmt.Sprintf("inside ±%.3g, two one-sided tests", delta), Value: i, P: p, Power: power(x, nearest),
		Seeds: x, Outcome: mark(i, p < Significant || len(x) < 2 && math.Abs(i.Estimate) < delta, false, i.Low > delta || i.High < -delta)}
}

// Rates checks that events are at least r times as frequent in a as in b, by
// counts pooled over the replications and the exact conditional interval. An
// interval below 1 is contrary; too few events leave the check open.
func Rates(d Level, name string, eventsA, allA, eventsB, allB []float64, r float64) Check {
	a, b := pooled(eventsA, allA), pooled(eventsB, allB)
	i := stats.RateRatio(a.Events, a.Trials, b.Events, b.Trials)
	c := Check{Name: name, Level: d, Needs: fmt.Sprintf("exact interval above %v, pooled", r), Value: i, P: math.NaN(),
		Seeds: stats.Quotients(stats.Quotients(eventsA, allA), stats.Quotients(eventsB, allB)), Outcome: mark(i, i.Low > r, i.High < 1, i.High < r)}
	return tooFew(c, stats.Pool([]stats.Count{a, b}))
}

// Occurs checks that something rare happens at all: any event lifts the exact interval of Clopper and Pearson of the share,
// pooled over the replications, above 0, so that enough of them are asked for.
func Occurs(d Level, name string, events, all []float64) Check {
	sum := pooled(events, all)
	i := sum.Share()
	c := tooFew(Check{Name: name, Level: d, Needs: "exact interval inside [0, 1], pooled", Value: i, P: math.NaN(),
		Seeds: stats.Quotients(events, all), Outcome: mark(i, true, false, false)}, sum)
	if c.Outcome == Passed {
		c.Needs = fmt.Sprintf("at least %d events, pooled", stats.FewEvents)
	}
	return c
}

func tooFew(c Check, sum stats.Count) Check {
	if sum.Few() {
		c.Outcome, c.Needs = Open, c.Needs+fmt.Sprintf(" (%d events: too few)", sum.Events)
	}
	return c
}

func pooled(events, all []float64) stats.Count {
	counts := make([]stats.Count, len(events))
	for i := range counts {
		counts[i] = stats.Count{Events: int(events[i]), Trials: int(all[i])}
	}
	return stats.Pool(counts)
}

// Shares are how often something happens in the runs of an arm.
type Shares struct {
	// By is the share of the runs of each warm start.
	By []float64
	// Events of Runs runs, at all learning rates.
	Events, Runs int
}

// FewerCollapses checks that fewer runs end badly in a than in b, by the exact paired sign-flip
// permutation of the shares of each warm start: its runs are not independent of each other. The
// value is the difference of the shares, b's minus a's, with Student's interval inside [-1, 1];
// where all warm starts agree, with the one that adds the squares of Clopper and Pearson's.
func FewerCollapses(d Level, name string, a, b Shares) Check {
	differences := stats.Differences(b.By, a.By)
	c := Better(d, fmt.Sprintf("%s, %d of %d against %d of %d", name, a.Events, a.Runs, b.Events, b.Runs), differences)
	c.Needs = "fewer, sign-flip p < 0.05"
	if stats.Deviation(differences) == 0 || len(differences) < 2 {
		c.Value = exactDifference(b.By, a.By)
	}
	c.Value = c.Value.Within(-1, 1)
	return c
}

// exactDifference is the difference of two mean shares of n, by exact intervals of the nearest counts.
func exactDifference(a, b []float64) stats.Interval {
	exact := func(x []float64) stats.Interval {
		return stats.ClopperPearson(int(math.Round(float64(stats.Average(x)*float64(len(x))))), len(x))
	}
	pa, pb := exact(a), exact(b)
	i := stats.Interval{Estimate: stats.Average(a) - stats.Average(b), N: len(a)}
	i.Low = i.Estimate - hypotenuse(pa.Estimate-pa.Low, pb.High-pb.Estimate)
	i.High = i.Estimate + hypotenuse(pa.High-pa.Estimate, pb.Estimate-pb.Low)
	return i
}

func hypotenuse(a, b float64) float64 { return math.Sqrt(float64(a*a) + float64(b*b)) }

// AtMost checks that no replication exceeds a bound: arithmetic, or an identity
// up to rounding.
func AtMost(d Level, name string, x []float64, bound float64) Check {
	return every(d, name, x, fmt.Sprintf("≤ %v in every one", bound), func(v float64) bool { return v <= bound })
}

// Zero checks an identity: every replication is exactly zero.
func Zero(d Level, name string, x []float64) Check {
	return every(d, name, x, "exactly 0", func(v float64) bool { return v == 0 })
}

func every(d Level, name string, x []float64, needs string, holds func(float64) bool) Check {
	out := Passed
	for _, v := range x {
		if !holds(v) {
			out = Failed
		}
	}
	return Check{Name: name, Level: d, Needs: needs, Value: stats.T(x), P: math.NaN(), Seeds: x, Outcome: out}
}

// Report prints a figure that is not tested.
func Report(d Level, name string, x []float64) Check {
	return Check{Name: name, Level: d, Needs: "reported", Value: stats.T(x), P: math.NaN(), Seeds: x, Outcome: Reported}
}

// ReportRatio prints a ratio that is not tested.
func ReportRatio(d Level, name string, a, b []float64) Check {
	return Check{Name: name, Level: d, Needs: "reported", Value: stats.TRatio(a, b), P: math.NaN(), Seeds: stats.Quotients(a, b), Outcome: Reported}
}

// Label is the check's name with its level.
func (c *Check) Label() string {
	if c.Level == Exact {
		return c.Name
	}
	return string(c.Level) + ", " + c.Name
}

// FamilyWise are the p-values of sign-flip tests of several lists of paired differences, adjusted together by Westfall
// and Young; NaN for a list without a difference.
func FamilyWise(differences [][]float64) []float64 { return stats.WestfallYoung(differences) }

// Adjusted are p-values adjusted by Holm; those that are NaN stay so and count for none.
func Adjusted(p []float64) []float64 { return stats.Holm(p) }

// Flip is the p-value of the exact paired sign-flip permutation test; adjust several with Adjusted.
func Flip(differences []float64) float64 { return stats.SignFlip(differences) }
