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
		number("n"), number("whole run"), {Name: "95 %"}, number("end"), {Name: "95 %"}, number("over none"), {Name: "95 %"}, number("drawdown"), number("collapsed"), number("ESS"), number("masked"), number("clipped"), number("acted"), number("cost"), {Name: "made by"}},
		Note: "Pass rates of the current weights minus those of the matched run with the same seed: mean over the whole run, and of the last three evaluations; over none: the former minus no method's under the same stressor; intervals by Student's t over the seeds. " +
			"Drawdown: the worst seed's fall below its own best before. Acted: seeds whose weights came out otherwise than without the method. Cost: passes of tokens, a trained one being three, relative to no method under the same stressor."}
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
	t := &figure.Figure{Kind: figure.Table, Title: "Methods by regret", Sortable: most == 0, Columns: []figure.Column{number("rank"), {Name: "method"}, {Name: "group"}, number("regret"), {Name: "95 %"}, number("worst"), {Name: "where"}},
		Note: "Regret: how far below the best method of each stressor the mean pass rate of the whole run lies, mean and worst over the stressors; then the difference to the matched run under each. " +
			"↑ and ↓: told better and worse than none under that stressor, at 5 % over the whole table (sign flips of whole seeds, adjusted by Westfall and Young). =: the method changed no bit of any run there, so the figure is that of no method. Dominated: another method's figure is nowhere lower and somewhere higher."}
	if r.hasHealthy() {
		t.Note += " The stressor healthy is a gap that is harmless by itself."
	}
	for _, s := range r.Stressors {
		t.Columns = append(t.Columns, number(s))
	}
	t.Columns = append(t.Columns, figure.Column{Name: "dominated by"})
	for i, m := range r.Methods {
		if most > 0 && i >= most {
			break
		}
		row := []figure.Cell{count(i + 1), figure.Word(m.Method), figure.Word(m.Group),
			hundredths(m.Regret.Estimate), between(m.Regret), hundredths(m.Worst), figure.Word(m.WorstAt)}
		for j := range m.AUC {
			row = append(row, m.cell(j))
		}
		t.Add(append(row, figure.Word(m.DominatedBy))...)
	}
	return t
}

// cell is the method's figure under a stressor, with an arrow where it is told from none.
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
