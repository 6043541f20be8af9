package claim

import (
	"fmt"
	"math"

	"driftlab/experiments/stats"
)

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

// Last is the last entry of a list, per seed.
func (j *Judge) Last(figure string) []float64 {
	return j.Each(func(o *Observation) float64 {
		v := o.List(figure)
		return v[len(v)-1]
	})
}

// Slope is that of a list over its places, per seed.
func (j *Judge) Slope(figure string) []float64 {
	return j.Each(func(o *Observation) float64 {
		y := o.List(figure)
		return stats.Slope(Counting(len(y)), y)
	})
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

// Add notes a check with a rule of its own.
func (j *Judge) Add(c Check) { j.Evidence.Checks = append(j.Evidence.Checks, c) }

// mark is what becomes of an interval: open where it decides nothing.
func mark(i stats.Interval, passed, contrary, failed bool) Mark {
	switch {
	case math.IsNaN(i.Estimate):
	case passed:
		return Passed
	case contrary:
		return Contrary
	case failed:
		return Failed
	}
	return Open
}

// Ratio checks that the geometric mean of a/b is at least r, with the interval
// above 1.
func (j *Judge) Ratio(d Dose, name string, a, b []float64, r float64) {
	i := stats.Ratio(a, b)
	out := mark(i, i.Low > 1 && i.Estimate >= r, i.High < 1, i.Low > 1 || i.Estimate == 1)
	j.Add(Check{name, d, fmt.Sprintf("≥ %v, interval above 1", r), i, stats.Quotients(a, b), out})
}

// RatioBelow checks that the geometric mean of a/b is below r, with the
// interval below 1.
func (j *Judge) RatioBelow(d Dose, name string, a, b []float64, r float64) {
	i := stats.Ratio(a, b)
	out := mark(i, i.High < 1 && i.Estimate < r, i.Low > 1, i.High < 1 || i.Estimate == 1)
	j.Add(Check{name, d, fmt.Sprintf("< %v, interval below 1", r), i, stats.Quotients(a, b), out})
}

// Positive checks that the interval of x lies above zero.
func (j *Judge) Positive(d Dose, name string, x []float64) { j.Above(d, name, x, 0) }

// Above checks that the interval of x lies above a bound. One on the wrong side
// is contrary to a direction, but merely too small for any bound but zero.
func (j *Judge) Above(d Dose, name string, x []float64, bound float64) {
	i := stats.Mean(x)
	out := mark(i, i.Low > bound, i.High < bound && bound == 0, i.High < bound || i.Low == bound && i.High == bound)
	j.Add(Check{name, d, fmt.Sprintf("interval above %v", bound), i, x, out})
}

// NotBelow checks that the interval of x does not lie below a value.
func (j *Judge) NotBelow(d Dose, name string, x []float64, value float64) {
	i := stats.Mean(x)
	out := Passed
	if !(i.High >= value) {
		out = Failed
	}
	j.Add(Check{name, d, fmt.Sprintf("interval not below %v", value), i, x, out})
}

// Below checks that the interval of x lies below a bound, as Above.
func (j *Judge) Below(d Dose, name string, x []float64, bound float64) {
	i := stats.Mean(x)
	out := mark(i, i.High < bound, i.Low > bound && bound == 0, i.Low > bound || i.Low == bound && i.High == bound)
	j.Add(Check{name, d, fmt.Sprintf("interval below %v", bound), i, x, out})
}

// Within checks that the interval of x lies inside [low, high].
func (j *Judge) Within(d Dose, name string, x []float64, low, high float64) {
	i := stats.Mean(x)
	out := mark(i, i.Low >= low && i.High <= high, false, i.Low > high || i.High < low)
	j.Add(Check{name, d, fmt.Sprintf("interval inside [%v, %v]", low, high), i, x, out})
}

// Covers checks that the interval of x holds a value.
func (j *Judge) Covers(d Dose, name string, x []float64, value float64) {
	i := stats.Mean(x)
	out := Failed
	if i.Low <= value && value <= i.High || i.N < 2 {
		out = Passed
	}
	j.Add(Check{name, d, fmt.Sprintf("interval holds %v", value), i, x, out})
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
	j.Add(Check{name, d, fmt.Sprintf("> %v in every seed", bound), stats.Mean(x), x, out})
}

// AtMost checks that no seed exceeds a bound.
func (j *Judge) AtMost(d Dose, name string, x []float64, bound float64) {
	out := Passed
	for _, v := range x {
		if !(v <= bound) {
			out = Failed
		}
	}
	j.Add(Check{name, d, fmt.Sprintf("≤ %v in every seed", bound), stats.Mean(x), x, out})
}

// Zero checks that every seed is exactly zero.
func (j *Judge) Zero(d Dose, name string, x []float64) {
	out := Passed
	for _, v := range x {
		if v != 0 {
			out = Failed
		}
	}
	j.Add(Check{name, d, "exactly 0", stats.Mean(x), x, out})
}

// Equivalent checks that the interval of x lies inside ±delta, where delta is
// half of the effect of a positive control.
func (j *Judge) Equivalent(d Dose, name string, x []float64, delta float64) {
	i := stats.Mean(x)
	out := mark(i, stats.Equivalent(i, delta) || i.N < 2 && math.Abs(i.Estimate) < delta, false, i.Low > delta || i.High < -delta)
	j.Add(Check{name, d, fmt.Sprintf("inside ±%.3g", delta), i, x, out})
}

// Report prints a figure that is not judged.
func (j *Judge) Report(d Dose, name string, x []float64) {
	j.Add(Check{name, d, "reported", stats.Mean(x), x, Reported})
}

// ReportRatio prints a ratio that is not judged.
func (j *Judge) ReportRatio(d Dose, name string, a, b []float64) {
	j.Add(Check{name, d, "reported", stats.Ratio(a, b), stats.Quotients(a, b), Reported})
}
