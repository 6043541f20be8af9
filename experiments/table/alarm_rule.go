package table

import (
	"cmp"
	"math"
	"slices"

	"driftlab/results/record"
	"driftlab/results/stats"
)

// Rule is an alarm: it rings in a window in which a metric lies beyond a limit.
type Rule struct {
	// Name says it in words, Source whose habit it is; fitted ones are ours.
	Name   string `json:"name"`
	Source string `json:"source"`
	Metric string `json:"metric"`
	// Below rings under the limit, else it rings above it.
	Below bool    `json:"below,omitempty"`
	Limit float64 `json:"limit"`
	// Relative compares with the median of the windows before, whose multiple the
	// limit is.
	Relative bool `json:"relative,omitempty"`
}

// firstWindow is the first in which an alarm may ring: before it there is nothing to
// compare with.
const firstWindow = 2

// rings reports whether a rule rings in a window.
func (r Rule) rings(s *series, window int) bool {
	v := r.value(s, window)
	return !math.IsNaN(v) && (r.Below && v < r.Limit || !r.Below && v > r.Limit)
}

// value is what a rule compares with its limit.
func (r Rule) value(s *series, window int) float64 {
	v := s.at(r.Metric, window)
	if !r.Relative {
		return v
	}
	var before []float64
	for w := range window {
		if x := s.at(r.Metric, w); !math.IsNaN(x) {
			before = append(before, x)
		}
	}
	if len(before) == 0 || stats.Median(before) <= 0 {
		return math.NaN()
	}
	return v / stats.Median(before)
}

// common are limits in use.
var common = []Rule{
	{Name: "k3 above 0.001", Source: "NeMo guide: acceptable below", Metric: k3Metric, Limit: 1e-3},
	{Name: "k1 above 0.1", Source: "verl", Metric: k1Metric, Limit: 0.1},
	{Name: "mean |d| above 0.1", Source: "slime CI", Metric: meanMetric, Limit: 0.1},
	{Name: "mean |dp| above 0.01", Source: "verl FAQ", Metric: dpMetric, Limit: 0.01},
	{Name: "Pearson below 0.99", Source: "survey", Metric: pearsonMetric, Below: true, Limit: 0.99},
	{Name: "Pearson below 0.95", Source: "survey", Metric: pearsonMetric, Below: true, Limit: 0.95},
	{Name: "k3 twice the median so far", Source: "habit", Metric: k3Metric, Limit: 2, Relative: true},
	{Name: "token chi² above 1", Source: "verl", Metric: chi2Metric, Limit: 1},
	{Name: "token chi² above 0.3", Source: "survey", Metric: chi2Metric, Limit: 0.3},
	{Name: "ESS of tokens below 0.5", Source: "survey", Metric: essTokenMetric, Below: true, Limit: 0.5},
	{Name: "ESS of responses below 0.5", Source: "survey", Metric: essMetric, Below: true, Limit: 0.5},
	{Name: "ESS of responses below 0.3", Source: "verl", Metric: essMetric, Below: true, Limit: 0.3},
	{Name: "entropy half the median so far", Source: "habit", Metric: entropyMetric, Below: true, Limit: 0.5, Relative: true},
	{Name: "entropy twice the median so far", Source: "habit", Metric: entropyMetric, Limit: 2, Relative: true},
	{Name: "length three times the median so far", Source: "length surge, arXiv 2602.01826", Metric: lengthMetric, Limit: 3, Relative: true},
	{Name: "clipped share above 0.2", Source: "habit", Metric: clipMetric, Limit: 0.2},
	{Name: "masked share above 0.1", Source: "habit", Metric: maskedMetric, Limit: 0.1},
	{Name: "gradient norm twice the median so far", Source: "habit", Metric: gradMetric, Limit: 2, Relative: true},
	{Name: "largest gradient norm ten times its median so far", Source: "conjecture", Metric: gradTopMetric, Limit: 10, Relative: true},
	{Name: "reward a fifth below the median so far", Source: "habit", Metric: rewardMetric, Below: true, Limit: 0.8, Relative: true},
}

// fittable are the metrics for which a limit is fitted, with the side that warns.
var fittable = []Rule{
	{Metric: k3Metric}, {Metric: chi2Metric}, {Metric: chi2TailMetric}, {Metric: essTokenMetric, Below: true}, {Metric: essMetric, Below: true},
	{Metric: entropyMetric}, {Metric: entropyMetric, Relative: true}, {Metric: lengthMetric, Relative: true}, {Metric: clipMetric}, {Metric: maskedMetric},
	{Metric: gradMetric}, {Metric: gradMetric, Relative: true}, {Metric: tvMetric}, {Metric: tvTailMetric}, {Metric: dlogpMetric}, {Metric: flipMetric}, {Metric: ageMetric},
	{Metric: rewardMetric, Below: true, Relative: true},
}

// Rates are how a rule did.
type Rates struct {
	// Detected is the number of collapses before which it rang, of so many; Low and High
	// are the interval of Clopper and Pearson of their share.
	Detected int           `json:"detected"`
	Of       int           `json:"of"`
	Low      record.Number `json:"low"`
	High     record.Number `json:"high"`
	// FalseAlarms is how often it began to ring per 1,000 steps of runs that did not
	// collapse; FlaggedRuns is the share of such runs in which it ever did.
	FalseAlarms float64 `json:"false_alarms_per_1000_steps"`
	FlaggedRuns float64 `json:"flagged_runs"`
	// Lead is the median number of updates from the first ring to the collapse, over
	// those that it detected; NaN where it detected none.
	Lead record.Number `json:"lead"`
}

// tally counts how a rule does.
type tally struct {
	collapses, detected  int
	runs, flagged, began int
	steps                int
	leads                []float64
}

// add runs the rule over one run.
func (t *tally) add(r Rule, s *series) {
	if s.onset >= 0 {
		if s.onset <= firstWindow {
			return // nothing could have warned
		}
		t.collapses++
		for w := firstWindow; w < s.onset; w++ {
			if r.rings(s, w) {
				t.detected++
				t.leads = append(t.leads, float64((s.onset-w)*s.every))
				return
			}
		}
		return
	}
	t.runs++
	rang, ever := false, false
	for w := firstWindow; w < s.n; w++ {
		now := r.rings(s, w)
		if now && !rang {
			t.began++
		}
		rang, ever = now, ever || now
		t.steps += s.every
	}
	if ever {
		t.flagged++
	}
}

// rates are the tally's.
func (t *tally) rates() Rates {
	share := stats.ClopperPearson(t.detected, t.collapses)
	r := Rates{Detected: t.detected, Of: t.collapses, Low: record.Number(share.Low), High: record.Number(share.High), Lead: record.Number(math.NaN())}
	if t.steps > 0 {
		r.FalseAlarms = 1000 * float64(t.began) / float64(t.steps)
		r.FlaggedRuns = float64(t.flagged) / float64(t.runs)
	}
	if len(t.leads) > 0 {
		r.Lead = record.Number(stats.Median(t.leads))
	}
	return r
}

// fitted returns the rule with the limit that parts collapses from other runs best: the
// largest difference of the shares in which it rings (Youden's index), by the extreme
// that each run reached before its collapse.
func (r Rule) fitted(runs []series) Rule {
	type extreme struct {
		value    float64
		collapse bool
	}
	var list []extreme
	collapses, rest := 0, 0
	for i := range runs {
		s := &runs[i]
		end := s.n
		if s.onset >= 0 {
			end = s.onset
		}
		worst := math.NaN()
		for w := firstWindow; w < end; w++ {
			v := r.value(s, w)
			if r.Below {
				v = -v
			}
			if !math.IsNaN(v) && !(worst >= v) {
				worst = v
			}
		}
		if math.IsNaN(worst) {
			continue
		}
		list = append(list, extreme{worst, s.onset >= 0})
		if s.onset >= 0 {
			collapses++
		} else {
			rest++
		}
	}
	r.Limit = math.NaN()
	if collapses == 0 || rest == 0 {
		return r
	}
	slices.SortStableFunc(list, func(a, b extreme) int { return cmp.Compare(b.value, a.value) })
	best, hit, wrong := 0.0, 0, 0
	for i, x := range list {
		if x.collapse {
			hit++
		} else {
			wrong++
		}
		if i+1 < len(list) && list[i+1].value == x.value {
			continue
		}
		if youden := float64(hit)/float64(collapses) - float64(wrong)/float64(rest); youden > best {
			best = youden
			r.Limit = x.value
			if i+1 < len(list) {
				r.Limit = (x.value + list[i+1].value) / 2
			}
		}
	}
	if r.Below {
		r.Limit = -r.Limit
	}
	return r
}
