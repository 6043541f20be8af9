package record

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/results/stats"
)

// Window is the number of consecutive evaluations whose mean stands for a
// run's peak and for its end.
const Window = 3

// CollapseLoss is the share of its peak that a run must lose to be called
// collapsed.
const CollapseLoss = 0.3

// DegradationLoss is how far below the end of its matched control a run must end to be
// called degraded.
const DegradationLoss = 0.1

// recovery is the number of updates within which a run that has collapsed must be back
// above the line, or else it has collapsed whatever comes later.
const recovery = 100

// lowestRate is the pass rate below which a run solves nothing to speak of: of
// the 64 prompts that evaluations usually have, three lucky samples.
const lowestRate = 0.05

// Verdict is the outcome of a run, as data have it.
type Verdict string

// The verdicts, in the order in which a row of runs names them.
const (
	// Stopped is a run that a guard, or a value that is not finite, ended.
	Stopped Verdict = "stopped early"
	// DeadAtOnce is a run that could do something at the start and nothing from
	// the first evaluation after it on.
	DeadAtOnce Verdict = "dead at once"
	// Collapsed is a run that lost CollapseLoss of its peak (see HasCollapsed) and stayed
	// there to its end, or for a hundred updates.
	Collapsed Verdict = "collapsed"
	// NeverLearned is a run that could do nothing at the start nor later: it had
	// nothing to lose.
	NeverLearned Verdict = "never learned"
	// TooFew is a run with fewer evaluations than a collapse takes to show: three for
	// the end, and one for the peak.
	TooFew Verdict = "too few evaluations"
	// Running is a run without a summary yet.
	Running Verdict = "still running"
	// NotJudged is a run without the metric.
	NotJudged Verdict = "not judged"
	// NotCollapsed is a run with none of these.
	NotCollapsed Verdict = "held"
)

// Verdicts are all of them, in that order.
var Verdicts = [...]Verdict{Stopped, DeadAtOnce, Collapsed, NeverLearned, TooFew, Running, NotJudged, NotCollapsed}

// IsCollapse reports whether the verdict is a collapse, at once or later.
func (v Verdict) IsCollapse() bool { return v == Collapsed || v == DeadAtOnce }

// RunOutcome is the outcome of a run, by one metric. Its figures are NaN for a run
// without the metric.
type RunOutcome struct {
	// Start is the evaluation before the first update, NaN if there was none.
	Start Number `json:"start"`
	// Final is the mean of the last three evaluations, Mean that of all after the
	// start; Peak is the best mean of three consecutive ones, or the start where that is
	// higher.
	Final Number `json:"final"`
	Mean  Number `json:"mean"`
	Peak  Number `json:"peak"`
	// Drawdown is the furthest that such a mean lay below the highest before it, the
	// start included: 0 for a run that only rises.
	Drawdown Number `json:"drawdown"`
	// Verdict sums it up.
	Verdict Verdict `json:"fate"`
}

// Lost is the share of the peak that the end lacks, 0 for a peak of 0.
func (o RunOutcome) Lost() float64 {
	if o.Peak > 0 {
		return float64(1 - o.Final/o.Peak)
	}
	return 0
}

// HasCollapsed is the one criterion of a collapse: it reports whether a value lies
// CollapseLoss or more below the peak before it. Where the peak is not above zero there
// was nothing to lose.
func HasCollapsed(peak, value float64) bool {
	// 10 prompts of 18 to 7 are a loss of exactly the share, which rounded means miss by an ulp.
	const ulps = 1e-12
	return peak > 0 && value <= (1-CollapseLoss+ulps)*peak
}

// HasDegraded is the one criterion of a degradation: it reports whether a run ends more
// than DegradationLoss below its matched control, the same seed without the stressor.
func HasDegraded(control, final float64) bool { return final < control-DegradationLoss }

// CollapseRule is the rule in words, for the note of a table.
func CollapseRule() string {
	return fmt.Sprintf("Collapsed: %.0f %% or more below the run's own peak, to the end or for %d updates.", 100*CollapseLoss, recovery)
}

// Judge says what became of a run, by one metric.
func Judge(r *Record, metric string) RunOutcome {
	curve := curveOf(r.Column(metric))
	nan := Number(math.NaN())
	o := RunOutcome{Start: Number(curve.start), Mean: nan, Peak: nan, Final: nan, Drawdown: Number(curve.drawdown())}
	if peak, final, ok := PeakAndEnd(curve.values); ok {
		if curve.start > peak {
			peak = curve.start
		}
		o.Mean, o.Peak, o.Final = Number(stats.Average(curve.values)), Number(peak), Number(final)
	}
	o.Verdict = curve.verdict(float64(o.Peak), strings.HasSuffix(metric, "pass_rate"))
	switch {
	case r.Summary == nil:
		o.Verdict = Running
	case r.Summary.Status == StatusStopped:
		o.Verdict = Stopped
	}
	return o
}

// JudgeAll judges several runs by the same metric.
func JudgeAll(runs []*Record, metric string) []RunOutcome {
	list := make([]RunOutcome, len(runs))
	for i, r := range runs {
		list[i] = Judge(r, metric)
	}
	return list
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

// verdict judges a run that came to its end. A rate counts as something from
// lowestRate on, any other metric as soon as it is above zero.
func (c curve) verdict(peak float64, rate bool) Verdict {
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
	case !something(peak):
		return NeverLearned
	case started && !slices.ContainsFunc(c.values, something):
		return DeadAtOnce
	case c.collapsed():
		return Collapsed
	}
	return NotCollapsed
}

// collapsed follows the means of consecutive evaluations: below the line at the
// end, or for as long as a recovery may take.
func (c curve) collapsed() bool {
	peak, since := math.Inf(-1), -1 // the step from which it has been below the line
	if finite(c.start) {
		peak = c.start
	}
	for i, mean := range runningMeans(c.values) {
		peak = max(peak, mean)
		at := c.steps[min(i+Window, len(c.steps))-1]
		switch {
		case !HasCollapsed(peak, mean):
			since = -1
		case since < 0:
			since = at
		case at-since >= recovery:
			return true
		}
	}
	return since >= 0
}

// drawdown is the largest loss of the means of consecutive evaluations.
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
		means = append(means, stats.Average(values[i:i+width]))
	}
	return means
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
