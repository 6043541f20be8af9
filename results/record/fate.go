package record

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Window is the number of consecutive evaluations whose mean stands for a
// run's peak and for its end.
const Window = 3

// CollapseLoss is the share of its peak that a run must lose to be called
// collapsed.
const CollapseLoss = 0.3

// recovery is the number of updates within which a fallen run must be back
// above the line, or else it has collapsed whatever comes later.
const recovery = 100

// lowestRate is the pass rate below which a run solves nothing to speak of: of
// the 64 prompts that evaluations usually have, three lucky samples.
const lowestRate = 0.05

// Fate is what became of a run, in a word or three.
type Fate string

// The fates, in the order in which a row of runs names them.
const (
	// Stopped is a run that a guard, or a value that is not finite, ended.
	Stopped Fate = "stopped early"
	// DeadAtOnce is a run that could do something at the start and nothing from
	// the first evaluation after it on.
	DeadAtOnce Fate = "dead at once"
	// Collapsed is a run that fell (see Fell) and stayed there to its end, or for
	// a hundred updates.
	Collapsed Fate = "collapsed"
	// NeverLearned is a run that could do nothing at the start nor later: it had
	// nothing to lose.
	NeverLearned Fate = "never learned"
	// TooFew is a run with fewer evaluations than a fall takes to show: three for
	// the end, and one to fall from.
	TooFew Fate = "too few evaluations"
	// Running is a run without a summary yet.
	Running Fate = "still running"
	// NotJudged is a run without the metric.
	NotJudged Fate = "not judged"
	// Held is a run to which none of that happened.
	Held Fate = "held"
)

// Fates are all of them, in that order.
var Fates = [...]Fate{Stopped, DeadAtOnce, Collapsed, NeverLearned, TooFew, Running, NotJudged, Held}

// Fallen reports whether the fate is a collapse, at once or later.
func (f Fate) Fallen() bool { return f == Collapsed || f == DeadAtOnce }

// Judgement is a run by one metric.
type Judgement struct {
	// Fate is the verdict.
	Fate Fate
	// Start is the evaluation before the first update, NaN if there was none.
	Start float64
	// Mean is over the evaluations after the start; Peak is the best mean of three
	// consecutive ones, or the start where that is higher, and Final the last such
	// mean. All are NaN for a run without the metric.
	Mean, Peak, Final float64
	// Drawdown is the furthest that such a mean lay below the highest before it, the
	// start included: 0 for a run that only rises, NaN for one without the metric.
	Drawdown float64
}

// Lost is the share of the peak that the end lacks, 0 for a peak of 0.
func (c Judgement) Lost() float64 {
	if c.Peak > 0 {
		return 1 - c.Final/c.Peak
	}
	return 0
}

// Fell is the one rule for a fall: it reports whether a value lies CollapseLoss
// or more below the peak before it. Where the peak is not above zero there was
// nothing to lose.
func Fell(peak, value float64) bool {
	// 10 prompts of 18 to 7 are a loss of exactly the share, which rounded means miss by an ulp.
	const ulps = 1e-12
	return peak > 0 && value <= (1-CollapseLoss+ulps)*peak
}

// CollapseRule is the rule in words, for the note of a table.
func CollapseRule() string {
	return fmt.Sprintf("Collapsed: %.0f %% or more below the run's own peak, to the end or for %d updates.", 100*CollapseLoss, recovery)
}

// Judge says what became of a run, by one metric.
func Judge(r *Record, metric string) Judgement {
	curve := curveOf(r.Column(metric))
	c := Judgement{Start: curve.start, Mean: math.NaN(), Peak: math.NaN(), Final: math.NaN(), Drawdown: curve.drawdown()}
	if peak, final, ok := PeakAndEnd(curve.values); ok {
		c.Mean, c.Peak, c.Final = meanOf(curve.values), peak, final
		if curve.start > peak {
			c.Peak = curve.start
		}
	}
	c.Fate = curve.fate(c, strings.HasSuffix(metric, "pass_rate"))
	switch {
	case r.Summary == nil:
		c.Fate = Running
	case r.Summary.Status == StatusStopped:
		c.Fate = Stopped
	}
	return c
}

// curve is what a run can be judged by: the finite values of a metric.
type curve struct {
	start  float64 // NaN if there was no evaluation before the first update
	steps  []int   // of the values after it
	values []float64
}

func curveOf(column *Column) curve {
	c := curve{start: math.NaN()}
	if column == nil {
		return c
	}
	for i, v := range column.Value {
		switch {
		case !finite(v):
		case column.Step[i] == 0:
			c.start = v
		default:
			c.steps, c.values = append(c.steps, column.Step[i]), append(c.values, v)
		}
	}
	return c
}

// fate judges a run that came to its end. A rate counts as something from
// lowestRate on, any other metric as soon as it is above zero.
func (c curve) fate(j Judgement, rate bool) Fate {
	started, evaluations := finite(c.start), len(c.values)
	if started {
		evaluations++
	}
	something := func(v float64) bool { return v > 0 && (!rate || v >= lowestRate) }
	switch {
	case len(c.values) == 0:
		return NotJudged
	case evaluations <= Window:
		return TooFew
	case !something(j.Peak):
		return NeverLearned
	case started && !slices.ContainsFunc(c.values, something):
		return DeadAtOnce
	case c.collapsed():
		return Collapsed
	}
	return Held
}

// collapsed follows the means of consecutive evaluations: below the line at the
// end, or for as long as a recovery may take.
func (c curve) collapsed() bool {
	peak, fell := math.Inf(-1), -1
	if finite(c.start) {
		peak = c.start
	}
	for i, mean := range runningMeans(c.values) {
		peak = max(peak, mean)
		at := c.steps[min(i+Window, len(c.steps))-1]
		switch {
		case !Fell(peak, mean):
			fell = -1
		case fell < 0:
			fell = at
		case at-fell >= recovery:
			return true
		}
	}
	return fell >= 0
}

// drawdown is the largest fall of the means of consecutive evaluations.
func (c curve) drawdown() float64 {
	if len(c.values) == 0 {
		return math.NaN()
	}
	peak, worst := math.Inf(-1), 0.0
	if finite(c.start) {
		peak = c.start
	}
	for _, mean := range runningMeans(c.values) {
		peak = max(peak, mean)
		worst = max(worst, peak-mean)
	}
	return worst
}

// runningMeans returns the means of consecutive values, three each (of all, if there
// are fewer).
func runningMeans(values []float64) []float64 {
	width := min(Window, len(values))
	var means []float64
	for i := 0; width > 0 && i+width <= len(values); i++ {
		means = append(means, meanOf(values[i:i+width]))
	}
	return means
}

func meanOf(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// PeakAndEnd returns the peak of a curve and its end, both as means of three
// consecutive values (of all, if there are fewer), so that one lucky
// evaluation makes no peak. Values that are not finite are left out; ok is
// false if none is left.
func PeakAndEnd(values []float64) (peak, final float64, ok bool) {
	var list []float64
	for _, v := range values {
		if finite(v) {
			list = append(list, v)
		}
	}
	peak = math.Inf(-1)
	for _, mean := range runningMeans(list) {
		peak, final = max(peak, mean), mean
	}
	if len(list) == 0 {
		return 0, 0, false
	}
	return peak, final, true
}

// finite reports whether v is neither NaN nor an infinity.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
