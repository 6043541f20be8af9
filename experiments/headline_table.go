package experiments

import (
	"fmt"
	"math"
	"slices"

	"driftlab/experiments/study/judge"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// OutcomeTable shows every arm with its seeds and, next to it, the same arm of
// published outcomes, if there are any.
func (h *HeadlineResult) OutcomeTable(published []ArmOutcome) *figure.Figure {
	return outcomeTable(h.Arms, h.Outcomes(), published)
}

func outcomeTable(arms []HeadlineArm, outcomes, published []ArmOutcome) *figure.Figure {
	t := &figure.Figure{
		Kind:  figure.Table,
		Title: "Pass rate of each arm, and its difference to equal engines",
		Columns: []figure.Column{{Name: "run"}, right("final", "mean"), right("lowest", ""), right("minus equal engines", ""), right("95 %", ""),
			right("whole run", ""), right("95 %", ""), right("degraded", "")},
		Note: "Pass rate of the current weights on held-out prompts, sampled in the learner's engine; final is the mean of the last three evaluations. " +
			"Differences are paired by seed: at the end, and of the means over the whole run; 95 % confidence intervals by Student's t, limited to differences that two pass rates can have. " +
			fmt.Sprintf("Degraded: seeds that end more than %g below equal engines.", record.DegradationLoss),
	}
	if len(published) > 0 {
		t.Columns = append(t.Columns, right("published", ""), right("95 %", ""))
		t.Note += " Published: the same difference at the end, n = 10 seeds."
	}
	part := headlinePart("")
	for i, o := range outcomes {
		if i == 0 || arms[i].Part != part {
			part = arms[i].Part
			t.Add(append([]figure.Cell{figure.Word(partTitles[part]).As(figure.Muted)}, make([]figure.Cell, len(t.Columns)-1)...)...)
		}
		row := []figure.Cell{figure.Word(o.Title)}
		if len(o.Final) > 0 {
			row = append(row, figure.Word(fmt.Sprintf("%.2f", stats.Average(o.Final))), figure.Word(fmt.Sprintf("%.2f", slices.Min(o.Final))))
		} else {
			row = append(row, o.verdict(), figure.Cell{})
		}
		if d := o.MinusEqual; d != nil {
			row = append(row, signed(d.Final), between(d.Final), signed(d.Mean), between(d.Mean),
				figure.Word(fmt.Sprintf("%d of %d", d.Degraded, d.Final.N)))
		} else {
			row = append(row, figure.Cell{}, figure.Cell{}, figure.Cell{}, figure.Cell{}, figure.Cell{})
		}
		if len(published) > 0 {
			row = append(row, publishedCells(published, o.Name)...)
		}
		t.Add(row...)
	}
	return t
}

// publishedCells are the last two columns of a row.
func publishedCells(published []ArmOutcome, name string) []figure.Cell {
	for _, p := range published {
		if p.Name == name && p.MinusEqual != nil {
			return []figure.Cell{signed(p.MinusEqual.Final), between(p.MinusEqual.Final)}
		}
	}
	return make([]figure.Cell, 2)
}

// correctionTable compares every arm with the uncorrected arm of its part.
func (h *HeadlineResult) correctionTable() *figure.Figure {
	return correctionTable(h.Arms, h.Outcomes())
}

func correctionTable(arms []HeadlineArm, outcomes []ArmOutcome) *figure.Figure {
	t := &figure.Figure{
		Kind:  figure.Table,
		Title: "Effect of each correction against the uncorrected run",
		Columns: []figure.Column{{Name: "run"}, right("degraded", ""), right("95 %", ""), right("p", ""),
			right("minus uncorrected", ""), right("95 %", ""), right("p", ""), right("detectable", "")},
		Note: "Degraded: as above, with the 95 % interval of Clopper and Pearson and the p-value of Fisher's exact test against the uncorrected run. " +
			"Minus uncorrected: paired by seed, at the end; interval as above, p-value of the exact paired sign-flip permutation test. " +
			"Both p-values are adjusted by Holm over the rows, the intervals are not. Detectable: the true difference that a two-sided 5 % t-test with as many seeds detects with 80 % power.",
	}
	fisher, flip := make([]float64, len(outcomes)), make([]float64, len(outcomes))
	for i, o := range outcomes {
		fisher[i], flip[i] = math.NaN(), math.NaN()
		if len(o.MinusUncorrected) > 0 {
			n, of := o.degradedOrCollapsed()
			m, bare := outcomes[uncorrected(arms, arms[i])].degradedOrCollapsed()
			fisher[i], flip[i] = judge.Unpaired(n, of, m, bare), judge.Flip(o.MinusUncorrected)
		}
	}
	fisher, flip = judge.Adjusted(fisher), judge.Adjusted(flip)
	for i, o := range outcomes {
		if o.Name == control {
			continue
		}
		n, of := o.degradedOrCollapsed()
		share := stats.ClopperPearson(n, of)
		row := []figure.Cell{figure.Word(o.Title), figure.Word(fmt.Sprintf("%d of %d", n, of)),
			figure.Word(fmt.Sprintf("%.0f%% to %.0f%%", 100*share.Low, 100*share.High))}
		if d := o.MinusUncorrected; len(d) > 0 {
			bare := outcomes[uncorrected(arms, arms[i])]
			mean, found := stats.T(d).WithinShares(o.Final, bare.Final), figure.Cell{}
			if len(d) > 1 {
				found = figure.Word(fmt.Sprintf("%.2f", stats.SmallestEffect(stats.Deviation(d), len(d))))
			}
			row = append(row, probability(fisher[i]), signed(mean), between(mean), probability(flip[i]), found)
		}
		t.Add(append(row, make([]figure.Cell, len(t.Columns)-len(row))...)...)
	}
	return t
}

// probability is a p-value.
func probability(p float64) figure.Cell { return figure.Word(fmt.Sprintf("%.3f", p)) }

// right is a column of figures.
func right(name, unit string) figure.Column {
	return figure.Column{Name: name, Unit: unit, Align: figure.Right}
}

// signed is a difference of pass rates.
func signed(i stats.Interval) figure.Cell { return figure.Word(fmt.Sprintf("%+.2f", i.Estimate)) }

// between is an interval of differences, empty if there is none.
func between(i stats.Interval) figure.Cell {
	if i.N < 2 {
		return figure.Cell{}
	}
	return figure.Word(fmt.Sprintf("%+.2f to %+.2f", i.Low, i.High))
}
