package experiments

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/stats"
	"driftlab/results"
	"driftlab/results/record"
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

// Fell is the number of seeds that fell: below equal engines, or where these were
// not run, from their own peak.
func (o Outcome) Fell() int {
	if o.MinusEqual == nil {
		return o.Collapsed
	}
	return o.MinusEqual.Below
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
		list = append(list, o)
	}
	return list
}

// differenceOf compares seeds in pairs; nil if no pair was judged.
func differenceOf(arm, equal []record.Judgement) *Difference {
	var d Difference
	var final, mean []float64
	for i, a := range arm {
		e := equal[i]
		if math.IsNaN(a.Final) || math.IsNaN(e.Final) {
			continue
		}
		final, mean = append(final, a.Final-e.Final), append(mean, a.Mean-e.Mean)
		if a.Final < e.Final-fallsBelow {
			d.Below++
		}
	}
	if len(final) == 0 {
		return nil
	}
	d.Final, d.Mean = stats.T(final), stats.T(mean)
	return &d
}

// PublishedHeadline are the outcomes that the program was released with.
func PublishedHeadline() ([]Outcome, error) {
	var list []Outcome
	err := json.Unmarshal(results.PublishedHeadline(), &list)
	return list, err
}

// OutcomeTable shows every arm with its seeds, and beside it what the same arm
// of published outcomes came to, if there are any.
func (h *HeadlineResult) OutcomeTable(published []Outcome) *results.Table {
	t := &results.Table{
		Title: "What became of the pass rate",
		Columns: []results.TableColumn{{Name: "run"}, right("final", "mean"), right("lowest", ""), right("minus equal engines", ""), right("95 %", ""),
			right("whole run", ""), right("95 %", ""), right("fell", "")},
		Note: "Pass rate of the current weights on held-out prompts, sampled in the learner's engine; final is the mean of the last three evaluations. " +
			"The differences are paired by seed: at the end, and of the means over the whole run; intervals by Student's t. " +
			fmt.Sprintf("Fell: seeds that end more than %g under equal engines.", fallsBelow),
	}
	if len(published) > 0 {
		t.Columns = append(t.Columns, right("published", ""), right("95 %", ""))
		t.Note += " Published: the same difference at the end, with more seeds."
	}
	part := HeadlinePart(-1)
	for i, o := range h.Outcomes() {
		if h.Arms[i].Part != part {
			part = h.Arms[i].Part
			t.Add(append([]results.Cell{results.Word(partTitles[part]).As(results.Muted)}, make([]results.Cell, len(t.Columns)-1)...)...)
		}
		row := []results.Cell{results.Word(o.Title)}
		if len(o.Final) > 0 {
			row = append(row, results.Word(fmt.Sprintf("%.2f", stats.Average(o.Final))), results.Word(fmt.Sprintf("%.2f", slices.Min(o.Final))))
		} else {
			row = append(row, o.Verdict(), results.Cell{})
		}
		if d := o.MinusEqual; d != nil {
			row = append(row, signed(d.Final), between(d.Final), signed(d.Mean), between(d.Mean),
				results.Word(fmt.Sprintf("%d of %d", d.Below, d.Final.N)))
		} else {
			row = append(row, results.Cell{}, results.Cell{}, results.Cell{}, results.Cell{}, results.Cell{})
		}
		if len(published) > 0 {
			row = append(row, publishedCells(published, o.Name)...)
		}
		t.Add(row...)
	}
	return t
}

// publishedCells are the last two columns of a row.
func publishedCells(published []Outcome, name string) []results.Cell {
	for _, p := range published {
		if p.Name == name && p.MinusEqual != nil {
			return []results.Cell{signed(p.MinusEqual.Final), between(p.MinusEqual.Final)}
		}
	}
	return make([]results.Cell, 2)
}

// signed is a difference of pass rates.
func signed(i stats.Interval) results.Cell { return results.Word(fmt.Sprintf("%+.2f", i.Estimate)) }

// between is an interval of differences, empty if there is none.
func between(i stats.Interval) results.Cell {
	if i.N < 2 {
		return results.Cell{}
	}
	return results.Word(fmt.Sprintf("%+.2f to %+.2f", i.Low, i.High))
}
