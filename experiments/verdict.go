package experiments

import (
	"fmt"
	"math"

	"driftlab/experiments/stats"
)

// Verdict is what a claim came to. It is computed, never typed.
type Verdict string

// The verdicts.
const (
	// Reproduced: every check of the natural dose, and every exact one, holds.
	Reproduced Verdict = "reproduced"
	// Amplified: the natural dose does not show it, the amplified one does.
	Amplified Verdict = "reproduced only when amplified"
	// NotReproduced: the effect is absent, or smaller than its threshold.
	NotReproduced Verdict = "not reproduced"
	// Refuted: the interval lies on the other side.
	Refuted Verdict = "refuted at this scale"
	// Undecided: the interval holds both answers.
	Undecided Verdict = "undecided"
)

// Dose says under what provocation a check was made.
type Dose string

// The doses.
const (
	// Exact is arithmetic: no provocation is involved.
	Exact Dose = "exact"
	// Natural is a gap of the size that real stacks have: shipped or warm-started
	// weights and number formats in use.
	Natural Dose = "natural"
	// Stronger is a gap made larger on purpose: random deep models, rounded
	// accumulators, 4-bit formats.
	Stronger Dose = "amplified"
)

// Mark is what became of one check.
type Mark string

// The outcomes.
const (
	Passed   Mark = "passed"
	Failed   Mark = "failed"   // the effect is there but too small, or inconsistent
	Contrary Mark = "contrary" // the interval excludes the claim's direction
	Open     Mark = "open"     // the interval holds both directions
	Reported Mark = "reported" // printed, not judged
)

// Check is one comparison with a threshold that was fixed beforehand.
type Check struct {
	// Name says what is compared.
	Name string `json:"name"`
	// Dose is the provocation.
	Dose Dose `json:"dose"`
	// Needs is the threshold in words.
	Needs string `json:"needs"`
	// Value is the statistic with its 95 % interval.
	Value stats.Interval `json:"value"`
	// Seeds are the statistic's values, one per seed.
	Seeds []float64 `json:"seeds"`
	// Outcome is what became of it.
	Outcome Mark `json:"outcome"`
}

// decide applies the rule to the checks of a claim:
//
//	an exact check fails                        not reproduced
//	all natural checks pass                     reproduced
//	all amplified checks pass                   reproduced only when amplified
//	else, by the strongest dose there is:
//	  one is contrary, over five seeds or more  refuted at this scale
//	  one failed                                not reproduced
//	  else                                      undecided
//
// A claim with exact checks only is reproduced when they pass.
func decide(checks []Check, seeds int) Verdict {
	exact, natural, stronger := tally(checks, Exact), tally(checks, Natural), tally(checks, Stronger)
	switch {
	case exact.all > exact.passed:
		return NotReproduced
	case natural.all > 0 && natural.passed == natural.all:
		return Reproduced
	case stronger.all > 0 && stronger.passed == stronger.all:
		return Amplified
	case natural.all == 0 && stronger.all == 0:
		if exact.all == 0 {
			return Undecided
		}
		return Reproduced
	}
	last := stronger
	if last.all == 0 {
		last = natural
	}
	switch {
	case last.contrary > 0 && seeds >= leastSeeds:
		return Refuted
	case last.failed+last.contrary > 0:
		return NotReproduced
	}
	return Undecided
}

type counts struct{ all, passed, failed, contrary int }

// tally counts the judged checks of a dose.
func tally(checks []Check, d Dose) (c counts) {
	for _, k := range checks {
		if k.Dose != d || k.Outcome == Reported {
			continue
		}
		c.all++
		switch k.Outcome {
		case Passed:
			c.passed++
		case Failed:
			c.failed++
		case Contrary:
			c.contrary++
		}
	}
	return c
}

// Judge collects the checks of a claim.
type Judge struct {
	// Seeds are the seeds, and Runs what each measured.
	Seeds []uint64
	Runs  []*Observation
	// Evidence is what the claim's Judge function fills.
	Evidence Evidence
}

// Column is a figure of one value, one entry per seed.
func (j *Judge) Column(name string) []float64 {
	out := make([]float64, len(j.Runs))
	for i, o := range j.Runs {
		out[i] = o.Number(name)
	}
	return out
}

// Each computes a value per seed.
func (j *Judge) Each(of func(o *Observation) float64) []float64 {
	out := make([]float64, len(j.Runs))
	for i, o := range j.Runs {
		out[i] = of(o)
	}
	return out
}

// Mean is the mean over seeds of a list, entry by entry.
func (j *Judge) Mean(name string) []float64 {
	sum := make([]float64, len(j.Runs[0].List(name)))
	for _, o := range j.Runs {
		for i, v := range o.List(name) {
			sum[i] += v / float64(len(j.Runs))
		}
	}
	return sum
}

func (j *Judge) add(c Check) { j.Evidence.Checks = append(j.Evidence.Checks, c) }

// Ratio checks that the geometric mean of a/b is at least r, with the interval
// above 1.
func (j *Judge) Ratio(d Dose, name string, a, b []float64, r float64) {
	i := stats.Ratio(a, b, stats.Percentile)
	out := Open
	switch {
	case math.IsNaN(i.Estimate):
	case i.Low > 1 && i.Estimate >= r:
		out = Passed
	case i.High < 1:
		out = Contrary
	case i.Low > 1 || i.Estimate == 1:
		out = Failed
	}
	j.add(Check{name, d, fmt.Sprintf("≥ %v, interval above 1", r), i, quotients(a, b), out})
}

// RatioBelow checks that the geometric mean of a/b is below r, with the
// interval below 1.
func (j *Judge) RatioBelow(d Dose, name string, a, b []float64, r float64) {
	i := stats.Ratio(a, b, stats.Percentile)
	out := Open
	switch {
	case math.IsNaN(i.Estimate):
	case i.High < 1 && i.Estimate < r:
		out = Passed
	case i.Low > 1:
		out = Contrary
	case i.High < 1 || i.Estimate == 1:
		out = Failed
	}
	j.add(Check{name, d, fmt.Sprintf("< %v, interval below 1", r), i, quotients(a, b), out})
}

func quotients(a, b []float64) []float64 {
	q := make([]float64, len(a))
	for i := range a {
		q[i] = a[i] / b[i]
	}
	return q
}

// Positive checks that the interval of x lies above zero.
func (j *Judge) Positive(d Dose, name string, x []float64) { j.Above(d, name, x, 0) }

// Above checks that the interval of x lies above a bound.
func (j *Judge) Above(d Dose, name string, x []float64, bound float64) {
	i := stats.Mean(x, stats.Percentile)
	out := Open
	switch {
	case math.IsNaN(i.Estimate):
	case i.Low > bound:
		out = Passed
	case i.High < bound:
		out = beyond(bound)
	case i.Low == bound && i.High == bound:
		out = Failed
	}
	j.add(Check{name, d, fmt.Sprintf("interval above %v", bound), i, x, out})
}

// NotBelow checks that the interval of x does not lie below a value.
func (j *Judge) NotBelow(d Dose, name string, x []float64, value float64) {
	i := stats.Mean(x, stats.Percentile)
	out := Passed
	if !(i.High >= value) {
		out = Failed
	}
	j.add(Check{name, d, fmt.Sprintf("interval not below %v", value), i, x, out})
}

// Below checks that the interval of x lies below a bound.
func (j *Judge) Below(d Dose, name string, x []float64, bound float64) {
	i := stats.Mean(x, stats.Percentile)
	out := Open
	switch {
	case math.IsNaN(i.Estimate):
	case i.High < bound:
		out = Passed
	case i.Low > bound:
		out = beyond(bound)
	case i.Low == bound && i.High == bound:
		out = Failed
	}
	j.add(Check{name, d, fmt.Sprintf("interval below %v", bound), i, x, out})
}

// beyond is the mark of an interval on the wrong side of a bound: contrary to
// a direction, but merely too small or too large for any other threshold.
func beyond(bound float64) Mark {
	if bound == 0 {
		return Contrary
	}
	return Failed
}

// Within checks that the interval of x lies inside [low, high].
func (j *Judge) Within(d Dose, name string, x []float64, low, high float64) {
	i := stats.Mean(x, stats.Percentile)
	out := Open
	switch {
	case math.IsNaN(i.Estimate):
	case i.Low >= low && i.High <= high:
		out = Passed
	case i.Low > high || i.High < low:
		out = Failed
	}
	j.add(Check{name, d, fmt.Sprintf("interval inside [%v, %v]", low, high), i, x, out})
}

// Covers checks that the interval of x holds a value.
func (j *Judge) Covers(d Dose, name string, x []float64, value float64) {
	i := stats.Mean(x, stats.Percentile)
	out := Failed
	if i.Low <= value && value <= i.High || i.N < 2 {
		out = Passed
	}
	j.add(Check{name, d, fmt.Sprintf("interval holds %v", value), i, x, out})
}

// Always checks that x is above a bound in every seed, nine tenths of them from
// ten seeds on.
func (j *Judge) Always(d Dose, name string, x []float64, bound float64) {
	above, below := 0, 0
	for _, v := range x {
		switch {
		case v > bound:
			above++
		case v < 0:
			below++
		}
	}
	out := Failed
	switch {
	case stats.Consistent(above, len(x)):
		out = Passed
	case stats.Consistent(below, len(x)):
		out = Contrary
	}
	j.add(Check{name, d, fmt.Sprintf("> %v in every seed", bound), stats.Mean(x, stats.Percentile), x, out})
}

// AtMost checks that no seed exceeds a bound.
func (j *Judge) AtMost(d Dose, name string, x []float64, bound float64) {
	out := Passed
	for _, v := range x {
		if !(v <= bound) {
			out = Failed
		}
	}
	j.add(Check{name, d, fmt.Sprintf("≤ %v in every seed", bound), stats.Mean(x, stats.Percentile), x, out})
}

// Zero checks that every seed is exactly zero.
func (j *Judge) Zero(d Dose, name string, x []float64) {
	out := Passed
	for _, v := range x {
		if v != 0 {
			out = Failed
		}
	}
	j.add(Check{name, d, "exactly 0", stats.Mean(x, stats.Percentile), x, out})
}

// Equivalent checks that the interval of x lies inside ±delta, where delta is
// half of the effect of a positive control.
func (j *Judge) Equivalent(d Dose, name string, x []float64, delta float64) {
	i := stats.Mean(x, stats.Percentile)
	out := Open
	switch {
	case stats.Equivalent(i, delta), i.N < 2 && math.Abs(i.Estimate) < delta:
		out = Passed
	case i.Low > delta || i.High < -delta:
		out = Failed
	}
	j.add(Check{name, d, fmt.Sprintf("inside ±%.3g", delta), i, x, out})
}

// Report prints a figure that is not judged.
func (j *Judge) Report(d Dose, name string, x []float64) {
	j.add(Check{name, d, "reported", stats.Mean(x, stats.Percentile), x, Reported})
}

// ReportRatio prints a ratio that is not judged.
func (j *Judge) ReportRatio(d Dose, name string, a, b []float64) {
	j.add(Check{name, d, "reported", stats.Ratio(a, b, stats.Percentile), quotients(a, b), Reported})
}
