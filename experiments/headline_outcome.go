package experiments

import (
	"encoding/json"
	"math"
	"slices"

	"driftlab/results"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// fallsBelow is how far a seed's pass rate must end under that of equal engines
// with the same seed to be said to have fallen.
const fallsBelow = 0.1

// Outcome is what became of one arm.
type Outcome struct {
	// Name and Title are the arm's.
	Name  string `json:"name"`
	Title string `json:"title"`
	// Start is the evaluation before the first update, Peak and Final are the best
	// and the last mean of three evaluations (record.Judgement), by seed.
	Start []float64 `json:"start"`
	Peak  []float64 `json:"peak"`
	Final []float64 `json:"final"`
	// Verdicts are the seeds' fates, Collapsed counts those that fell from their
	// own peak, and Stopped those that a value which is not finite ended.
	Verdicts  []record.Fate `json:"verdicts"`
	Collapsed int           `json:"collapsed"`
	Stopped   int           `json:"stopped"`
	// MinusEqual compares it with equal engines; nil for those themselves, and
	// where they were not run.
	MinusEqual *Difference `json:"minus_equal,omitempty"`
	// MinusUncorrected is how much higher it ends than the uncorrected arm of its
	// part, seed by seed; empty for that arm, for equal engines, and where it was not run.
	MinusUncorrected []float64 `json:"minus_uncorrected,omitempty"`
}

// Difference compares an arm with equal engines, seed by seed.
type Difference struct {
	// Final is the mean difference at the end, Mean that of the means over the whole
	// run (the area under the curve).
	Final stats.Interval `json:"final"`
	Mean  stats.Interval `json:"mean"`
	// Below counts the seeds that end more than 0.1 under equal engines.
	Below int `json:"below"`
}

// Fell is the number of seeds that fell, of how many: below equal engines, or
// where these were not run, from their own peak.
func (o Outcome) Fell() (n, of int) {
	if o.MinusEqual == nil {
		return o.Collapsed, len(o.Verdicts)
	}
	return o.MinusEqual.Below, o.MinusEqual.Final.N
}

// Verdict is the outcome in words.
func (o Outcome) Verdict() results.Cell { return results.Verdict(o.Verdicts) }

// Outcomes judges every arm.
func (h *HeadlineResult) Outcomes() []Outcome {
	judgements := make([][]record.Judgement, len(h.Arms))
	for i, runs := range h.Runs {
		for _, run := range runs {
			judgements[i] = append(judgements[i], record.Judge(run, judged))
		}
	}
	equal := slices.IndexFunc(h.Arms, func(a HeadlineArm) bool { return a.Name == control })
	var list []Outcome
	for i, arm := range h.Arms {
		o := Outcome{Name: arm.Name, Title: arm.Title}
		for _, c := range judgements[i] {
			o.Verdicts = append(o.Verdicts, c.Fate)
			switch {
			case c.Fate == record.Stopped:
				o.Stopped++
			case c.Fate.Fallen():
				o.Collapsed++
			}
			if !math.IsNaN(c.Start) {
				o.Start = append(o.Start, c.Start)
			}
			if !math.IsNaN(c.Final) {
				o.Peak, o.Final = append(o.Peak, c.Peak), append(o.Final, c.Final)
			}
		}
		if equal >= 0 && i != equal {
			o.MinusEqual = differenceOf(judgements[i], judgements[equal])
		}
		if bare := uncorrected(h.Arms, arm); bare >= 0 && i != bare && i != equal {
			a, b := judgedPairs(judgements[i], judgements[bare])
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
func differenceOf(arm, equal []record.Judgement) *Difference {
	a, b := judgedPairs(arm, equal)
	if len(a) == 0 {
		return nil
	}
	mean := func(c record.Judgement) float64 { return c.Mean }
	d := &Difference{Final: stats.TShares(each(a, final), each(b, final)), Mean: stats.TShares(each(a, mean), each(b, mean))}
	for i := range a {
		if a[i].Final < b[i].Final-fallsBelow {
			d.Below++
		}
	}
	return d
}

// judgedPairs are the seeds that have an end in both arms.
func judgedPairs(arm, other []record.Judgement) (a, b []record.Judgement) {
	for i := range arm {
		if !math.IsNaN(arm[i].Final) && !math.IsNaN(other[i].Final) {
			a, b = append(a, arm[i]), append(b, other[i])
		}
	}
	return a, b
}

// each is a figure of every judgement.
func each(list []record.Judgement, figure func(record.Judgement) float64) []float64 {
	var values []float64
	for _, c := range list {
		values = append(values, figure(c))
	}
	return values
}

// final is the figure at the end.
func final(c record.Judgement) float64 { return c.Final }

// PublishedHeadline are the outcomes that the program was released with.
func PublishedHeadline() ([]Outcome, error) {
	var list []Outcome
	err := json.Unmarshal(results.PublishedHeadline(), &list)
	return list, err
}
