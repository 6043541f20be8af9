package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// outcome is what became of every group, judged by one metric.
type outcome struct {
	metric string // empty if nothing on record can be judged by
	groups []groupOutcome
}

// groupOutcome is one row: means over the seeds that can be judged.
type groupOutcome struct {
	name                        string
	judged, collapsed           int
	peak, final, low, high      float64
	lost                        float64
	unfinished, stopped, ending int
}

// Settle returns the peak of a curve and its end, both as means of three
// consecutive values (of all, if there are fewer), so that one lucky
// evaluation makes no peak. Values that are not finite are left out; ok is
// false if none is left.
func Settle(values []float64) (peak, final float64, ok bool) {
	var list []float64
	for _, v := range values {
		if finite(v) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return 0, 0, false
	}
	width := min(settled, len(list))
	peak = math.Inf(-1)
	for i := 0; i+width <= len(list); i++ {
		var sum float64
		for _, v := range list[i : i+width] {
			sum += v
		}
		final = sum / float64(width)
		peak = max(peak, final)
	}
	return peak, final, true
}

// Collapsed reports whether a run whose curve settled at these values lost
// CollapseLoss of its peak or more. One that never rose above zero had nothing
// to lose.
func Collapsed(peak, final float64) bool { return peak > 0 && final <= (1-CollapseLoss)*peak }

// outcomes judges every group.
func outcomes(groups []RunGroup, metric string) outcome {
	o := outcome{metric: metric}
	for _, g := range groups {
		row := groupOutcome{name: g.Name, low: math.Inf(1), high: math.Inf(-1)}
		for _, r := range g.Runs {
			switch {
			case r.Summary == nil:
				row.unfinished++
			case r.Summary.Status == StatusStopped:
				row.stopped++
			default:
				row.ending++
			}
			c := r.Column(metric)
			if c == nil {
				continue
			}
			peak, final, ok := Settle(c.Value)
			if !ok {
				continue
			}
			row.judged++
			row.peak += peak
			row.final += final
			row.low, row.high = min(row.low, final), max(row.high, final)
			if peak > 0 {
				row.lost += 1 - final/peak
			}
			if Collapsed(peak, final) {
				row.collapsed++
			}
		}
		if n := float64(row.judged); n > 0 {
			row.peak, row.final, row.lost = row.peak/n, row.final/n, row.lost/n
		}
		o.groups = append(o.groups, row)
	}
	return o
}

// lead is the first sentence of the report.
func (o outcome) lead(runs int) string {
	s := fmt.Sprintf("**%s** of **%s**, seeds as bands.", plural(runs, "run"), plural(len(o.groups), "recipe"))
	judged := slices.DeleteFunc(slices.Clone(o.groups), func(g groupOutcome) bool { return g.judged == 0 })
	if len(judged) > 1 {
		by := func(a, b groupOutcome) int {
			switch {
			case a.final < b.final:
				return -1
			case a.final > b.final:
				return 1
			}
			return 0
		}
		low, high := slices.MinFunc(judged, by), slices.MaxFunc(judged, by)
		s += fmt.Sprintf(" By `%s` at the end, **%s** stands highest (%s) and **%s** lowest (%s).",
			o.metric, high.name, FormatNumber(high.final, 3), low.name, FormatNumber(low.final, 3))
	}
	var fallen []string
	for _, g := range judged {
		if g.collapsed > 0 {
			fallen = append(fallen, fmt.Sprintf("%s (%d of %d)", g.name, g.collapsed, g.judged))
		}
	}
	if len(fallen) > 0 {
		s += " Collapsed: " + strings.Join(fallen, ", ") + "."
	}
	return s
}

// verdict is the row's badge.
func (g groupOutcome) verdict() Cell {
	switch {
	case g.unfinished > 0:
		return Word(fmt.Sprintf("%d of %d still running", g.unfinished, g.unfinished+g.stopped+g.ending)).As(Warn)
	case g.stopped > 0:
		return Word(fmt.Sprintf("%d of %d stopped early", g.stopped, g.stopped+g.ending)).As(Bad)
	case g.judged == 0:
		return Word("not judged").As(Muted)
	case g.collapsed == g.judged:
		return Word(fmt.Sprintf("collapsed in %d of %d", g.collapsed, g.judged)).As(Bad)
	case g.collapsed > 0:
		return Word(fmt.Sprintf("collapsed in %d of %d", g.collapsed, g.judged)).As(Warn)
	}
	return Word("held").As(Good)
}

// blocks are the table of outcomes, what must be said beside it, and the chart
// of the metric that outcomes are judged by.
func (o outcome) blocks(groups []RunGroup, terms []Term) []Block {
	t := &Table{Title: "Every recipe, means over its seeds",
		Columns: []TableColumn{{Name: "recipe"}, {Name: "verdict"}, {Name: "seeds"}, {Name: "steps", Align: Right}}}
	if o.metric != "" {
		t.Columns = append(t.Columns, TableColumn{Name: "peak", Align: Right}, TableColumn{Name: "final", Align: Right},
			TableColumn{Name: "lowest to highest", Unit: "final", Align: Right}, TableColumn{Name: "lost", Unit: "of the peak", Align: Right})
		t.Note = fmt.Sprintf("Judged by `%s`. Peak and final are means of %d consecutive values of a run. Collapsed: %.0f%% or more of the peak lost.",
			o.metric, settled, 100*CollapseLoss)
	}
	blocks := []Block{t}
	repeats := 0
	for i, g := range groups {
		row, repeated := o.row(i, g), g.Repeats
		repeats += repeated
		t.Add(row...)
		for _, r := range g.Runs {
			if r.Summary != nil && r.Summary.Status == StatusStopped {
				blocks = append(blocks, Prose(fmt.Sprintf("**%s**, seed %d stopped early: %s.", g.Name, r.Seed, strings.TrimSuffix(r.Summary.Reason, "."))))
			}
		}
	}
	if repeats > 0 {
		blocks = append(blocks, Prose(plural(repeats, "run")+" left out: the same recipe and seed are here already."))
	}
	if o.metric != "" {
		c := ChartOf(groups, o.metric, terms)
		blocks = append(blocks, &c)
	}
	return blocks
}

// row is one line of the table.
func (o outcome) row(i int, g RunGroup) []Cell {
	var seeds []string
	least, most := math.MaxInt, 0
	for _, r := range g.Runs {
		seeds = append(seeds, strconv.FormatUint(r.Seed, 10))
		least, most = min(least, r.Steps), max(most, r.Steps)
	}
	steps := strconv.Itoa(most)
	if least != most {
		steps = strconv.Itoa(least) + " to " + steps
	}
	q := o.groups[i]
	row := []Cell{Word(g.Name), q.verdict(), Word(strings.Join(seeds, ", ")), {Text: steps, Value: float64(most), Numeric: true}}
	switch {
	case o.metric == "":
	case q.judged == 0:
		row = append(row, Cell{}, Cell{}, Cell{}, Cell{})
	default:
		spread := Cell{}
		if q.judged > 1 {
			spread = Word(FormatNumber(q.low, 3) + " to " + FormatNumber(q.high, 3))
		}
		row = append(row, Number(q.peak, 3), Number(q.final, 3), spread, Percent(q.lost, 0))
	}
	return row
}
