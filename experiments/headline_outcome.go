package experiments

import (
	"encoding/json"
	"math"
	"slices"

	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// ArmOutcome is what became of one arm: the record.RunOutcome of its seeds.
type ArmOutcome struct {
	// Name and Title are the arm's.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Start is the evaluation before the first update, Peak and Final are the best
	// and the last mean of three evaluations, by seed.
	Start []float64 `json:"start"`
	Peak  []float64 `json:"peak"`
	Final []float64 `json:"final"`
	// Verdicts are those of the seeds, Collapsed counts the seeds that collapsed, and
	// Stopped those that a value which is not finite ended.
	Verdicts  []record.Verdict `json:"verdicts"`
	Collapsed int              `json:"collapsed"`
	Stopped   int              `json:"stopped"`
	// MinusEqual compares it with equal engines; nil for those themselves, and
	// where they were not run.
	MinusEqual *difference `json:"minus_equal,omitempty"`
	// MinusUncorrected is how much higher it ends than the uncorrected arm of its
	// part, seed by seed; empty for that arm, for equal engines, and where it was not run.
	MinusUncorrected []float64 `json:"minus_uncorrected,omitempty"`
}

// difference compares an arm with equal engines, seed by seed.
type difference struct {
	// Final is the mean difference at the end, Mean that of the means over the whole
	// run (the area under the curve).
	Final stats.Interval `json:"final"`
	Mean  stats.Interval `json:"mean"`
	// Degraded counts the seeds that degrade: record.HasDegraded.
	Degraded int `json:"below"`
}

// degradedOrCollapsed is the number of seeds that degrade, of how many, or, where there is
// no control, of seeds that collapse.
func (o ArmOutcome) degradedOrCollapsed() (n, of int) {
	if o.MinusEqual == nil {
		return o.Collapsed, len(o.Verdicts)
	}
	return o.MinusEqual.Degraded, o.MinusEqual.Final.N
}

// verdict is the outcome in words.
func (o ArmOutcome) verdict() figure.Cell { return results.Verdict(o.Verdicts) }

// Outcomes judges every arm.
func (h *HeadlineResult) Outcomes() []ArmOutcome {
	outcomes := make([][]record.RunOutcome, len(h.Arms))
	for i, runs := range h.Runs {
		outcomes[i] = record.JudgeAll(runs, judged)
	}
	equal := slices.IndexFunc(h.Arms, func(a HeadlineArm) bool { return a.Name == control })
	var list []ArmOutcome
	for i, arm := range h.Arms {
		o := ArmOutcome{Name: arm.Name, Title: arm.Title}
		for _, c := range outcomes[i] {
			o.Verdicts = append(o.Verdicts, c.Verdict)
			switch {
			case c.Verdict == record.Stopped:
				o.Stopped++
			case c.Verdict.IsCollapse():
				o.Collapsed++
			}
			if start := float64(c.Start); !math.IsNaN(start) {
				o.Start = append(o.Start, start)
			}
			if end := float64(c.Final); !math.IsNaN(end) {
				o.Peak, o.Final = append(o.Peak, float64(c.Peak)), append(o.Final, end)
			}
		}
		if equal >= 0 && i != equal {
			o.MinusEqual = differenceOf(outcomes[i], outcomes[equal])
		}
		if bare := uncorrected(h.Arms, arm); bare >= 0 && i != bare && i != equal {
			a, b := judgedPairs(outcomes[i], outcomes[bare])
			o.MinusUncorrected = stats.Differences(each(a, final), each(b, final))
		}
		list = append(list, o)
	}
	return list
}

// uncorrected is the place of the arm without a correction in the part of an arm, -1 if it was not run.
func uncorrected(arms []HeadlineArm, of HeadlineArm) int {
	return slices.IndexFunc(arms, func(a HeadlineArm) bool {
		_, method := titleParts(a.Title)
		return a.Part == of.Part && method == "uncorrected"
	})
}

// differenceOf compares seeds in pairs; nil if no pair was judged.
func differenceOf(arm, equal []record.RunOutcome) *difference {
	a, b := judgedPairs(arm, equal)
	if len(a) == 0 {
		return nil
	}
	mean := func(c record.RunOutcome) record.Number { return c.Mean }
	d := &difference{Final: stats.TShares(each(a, final), each(b, final)), Mean: stats.TShares(each(a, mean), each(b, mean))}
	for i := range a {
		if record.HasDegraded(float64(b[i].Final), float64(a[i].Final)) {
			d.Degraded++
		}
	}
	return d
}

// judgedPairs are the seeds that have an end in both arms.
func judgedPairs(arm, other []record.RunOutcome) (a, b []record.RunOutcome) {
	for i := range arm {
		if !math.IsNaN(float64(arm[i].Final + other[i].Final)) {
			a, b = append(a, arm[i]), append(b, other[i])
		}
	}
	return a, b
}

// each is a figure of every outcome.
func each(list []record.RunOutcome, figure func(record.RunOutcome) record.Number) []float64 {
	var values []float64
	for _, c := range list {
		values = append(values, float64(figure(c)))
	}
	return values
}

// final is the figure at the end.
func final(c record.RunOutcome) record.Number { return c.Final }

// PublishedHeadline are the outcomes that the program was released with.
func PublishedHeadline() ([]ArmOutcome, error) {
	var list []ArmOutcome
	err := json.Unmarshal(results.PublishedHeadline(), &list)
	return list, err
}
