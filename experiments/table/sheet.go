package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// Sheet is the table as a file: every row with every figure, and the command that
// makes it alone.
func Sheet(rows []Row) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table}
	for _, name := range []string{"stage", "method", "group", "setting", "stressor", "dose", "rate", "n",
		"auc_minus_matched", "auc_low", "auc_high", "final_minus_matched", "final_low", "final_high", "auc_minus_none", "none_low", "none_high",
		"drawdown", "collapses", "ess", "masked", "clipped", "acted", "cost", "command"} {
		t.Columns = append(t.Columns, figure.Column{Name: name})
	}
	for _, r := range rows {
		cells := []figure.Cell{figure.Word(r.Stage), figure.Word(r.Method), figure.Word(r.Group), figure.Word(r.Setting),
			figure.Word(r.Stressor), figure.Word(r.Dose), figure.Word(r.Rate), rounded(float64(r.N))}
		for _, v := range slices.Concat(interval(r.AUC), interval(r.Final), interval(r.OverNone)) {
			cells = append(cells, rounded(v))
		}
		for _, v := range []float64{r.Drawdown, float64(r.Collapses), r.ESS, r.Masked, r.Clipped, float64(r.Acted), r.Cost} {
			cells = append(cells, rounded(v))
		}
		t.Add(append(cells, figure.Word(r.Command()))...)
	}
	return t
}

// interval is an estimate with its ends, which are NaN where one seed makes none.
func interval(i stats.Interval) []float64 {
	if i.N < 2 {
		return []float64{i.Estimate, math.NaN(), math.NaN()}
	}
	return []float64{i.Estimate, i.Low, i.High}
}

// rounded is a number to four decimals: the pass rates are of some hundred prompts.
func rounded(v float64) figure.Cell {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		v = math.Round(v*1e4) / 1e4
	}
	return figure.Number(v, 3)
}

// rowTable is the table for a page, to be sorted and searched.
func rowTable(rows []Row) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Every row", Sortable: true, Columns: []figure.Column{{Name: "method"}, {Name: "group"}, {Name: "stressor"}, {Name: "dose"}, {Name: "rate"}, {Name: "stage"},
		number("n"), number("whole run"), {Name: "95 %"}, number("end"), {Name: "95 %"}, number("improvement"), {Name: "95 %"}, number("drawdown"), number("collapsed"), number("ESS"), number("masked"), number("clipped"), number("acted"), number("cost"), {Name: "made by"}},
		Note: "Pass rates of the current weights minus those of the matched control with the same seed: mean over the whole run, and of the last three evaluations. Improvement: the mean over the whole run minus that without a correction under the same stressor. Intervals: Student's t over the seeds. " +
			"Drawdown: the largest drop of a seed below its own best so far. Acted: seeds whose weights differ from those without the method. Cost: token passes (training a token counts three), relative to no correction under the same stressor."}
	for _, r := range rows {
		t.Add(figure.Word(r.Method), figure.Word(r.Group), figure.Word(r.Letter+" "+r.Stressor), figure.Word(r.Dose), figure.Word(r.Rate), figure.Word(r.Stage),
			count(r.N), signed(r.AUC.Estimate), between(r.AUC), signed(r.Final.Estimate), between(r.Final), signed(r.OverNone.Estimate), between(r.OverNone),
			figure.Number(r.Drawdown, 2), count(r.Collapses), figure.Number(r.ESS, 2), figure.Number(r.Masked, 2), figure.Number(r.Clipped, 2),
			count(r.Acted), figure.Number(r.Cost, 3), figure.Word(r.Command()))
	}
	return t
}

// StandingTable ranks the methods; at most so many of them, 0 for all.
func (r *Ranking) StandingTable(most int) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Settings by regret", Sortable: most == 0, Columns: []figure.Column{number("rank"), {Name: "setting"}, {Name: "group"}, number("regret"), {Name: "95 % CI"}, number("worst"), {Name: "under"}},
		Note: "Regret: distance of the mean pass rate of the whole run to the best setting of each stressor, mean and worst over the stressors; then the difference to the matched control under each stressor. " +
			"↑ and ↓: significantly better and worse than no correction under that stressor (" + testName + "). =: the setting cannot act there, no bit of any run differs from no correction. Dominated: another setting is nowhere lower and somewhere higher. Same as: an earlier setting has the same bits in every run."}
	if r.hasHealthy() {
		t.Note += " `healthy` is no stressor: a mismatch that is harmless by itself, which counts in the regret all the same."
	}
	for _, s := range r.Stressors {
		t.Columns = append(t.Columns, number(s))
	}
	t.Columns = append(t.Columns, figure.Column{Name: "dominated by"}, figure.Column{Name: "same as"})
	for i, m := range r.Methods {
		if most > 0 && i >= most {
			break
		}
		row := []figure.Cell{count(i + 1), figure.Word(m.Method), figure.Word(m.Group),
			hundredths(m.Regret.Estimate), between(m.Regret), hundredths(m.Worst), figure.Word(m.WorstAt)}
		for j := range m.AUC {
			row = append(row, m.cell(j))
		}
		t.Add(append(row, figure.Word(m.DominatedBy), figure.Word(m.SameAs))...)
	}
	return t
}

// cell is the setting's figure under a stressor, with an arrow where it differs significantly
// from no correction.
func (m *Standing) cell(stressor int) figure.Cell {
	c := signed(m.AUC[stressor])
	switch g := m.gain(stressor); {
	case g.Better():
		c.Text = "↑ " + c.Text
		return c.As(figure.Good)
	case g.Worse():
		c.Text = "↓ " + c.Text
		return c.As(figure.Bad)
	case m.Idle[stressor] && m.Method != control:
		c.Text = "= " + c.Text
		return c.As(figure.Muted)
	}
	return c
}

// number heads a column of figures.
func number(name string) figure.Column {
	return figure.Column{Name: name, Align: figure.Right}
}

// count is a whole number.
func count(n int) figure.Cell {
	return figure.Cell{Text: strconv.Itoa(n), Value: float64(n), Numeric: true}
}

// signed is a difference of pass rates, hundredths is a distance of some.
func signed(v float64) figure.Cell {
	return figure.Cell{Text: fmt.Sprintf("%+.2f", v), Value: v, Numeric: true}
}

func hundredths(v float64) figure.Cell {
	return figure.Cell{Text: fmt.Sprintf("%.2f", v), Value: v, Numeric: true}
}

// between are the ends of an interval, empty if there is none.
func between(i stats.Interval) figure.Cell {
	if i.N < 2 {
		return figure.Cell{}
	}
	return figure.Word(fmt.Sprintf("%+.2f to %+.2f", i.Low, i.High))
}
