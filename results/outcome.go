package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// outcome is what became of every group, judged by one metric.
type outcome struct {
	metric string // empty if nothing on record can be judged by
	groups []groupOutcome
}

// groupOutcome is one row: means over the seeds that have the metric.
type groupOutcome struct {
	name                   string
	verdicts               []record.Verdict // one per seed
	measured               int              // seeds that have the metric
	peak, final, low, high float64
	lost                   float64
}

// outcomes judges every group.
func outcomes(groups []RunGroup, metric string) outcome {
	o := outcome{metric: metric}
	for _, g := range groups {
		row := groupOutcome{name: g.Name, low: math.Inf(1), high: math.Inf(-1)}
		for _, c := range record.JudgeAll(g.Runs, metric) {
			row.verdicts = append(row.verdicts, c.Verdict)
			final := float64(c.Final)
			if !finite(final) {
				continue
			}
			row.measured++
			row.peak += float64(c.Peak)
			row.final += final
			row.low, row.high = min(row.low, final), max(row.high, final)
			row.lost += c.Lost()
		}
		if n := float64(row.measured); n > 0 {
			row.peak, row.final, row.lost = row.peak/n, row.final/n, row.lost/n
		}
		o.groups = append(o.groups, row)
	}
	return o
}

// collapsed counts the seeds that did.
func (g groupOutcome) collapsed() int {
	n := 0
	for _, v := range g.verdicts {
		if v.IsCollapse() {
			n++
		}
	}
	return n
}

// lead is the first paragraph of the report: what collapsed, who ends where, and
// what was run.
func (o outcome) lead(runs int) string {
	var collapsed, parts []string
	for _, g := range o.groups {
		if n := g.collapsed(); n > 0 {
			collapsed = append(collapsed, fmt.Sprintf("**%s** (%d of %d)", g.name, n, len(g.verdicts)))
		}
	}
	if len(collapsed) > 0 {
		parts = append(parts, "Collapsed: "+strings.Join(collapsed, ", ")+".")
	}
	if ranking := o.ranking(); ranking != "" {
		parts = append(parts, ranking)
	} else if len(o.groups) == 1 && o.groups[0].measured > 0 {
		g := o.groups[0]
		parts = append(parts, fmt.Sprintf("`%s` peaks at **%s** and ends at **%s**.", o.metric, figure.FormatNumber(g.peak, 3), figure.FormatNumber(g.final, 3)))
	}
	return strings.Join(append(parts, figure.Count(runs, "run")+" of "+figure.Count(len(o.groups), "recipe")+"."), " ")
}

// ranking says who stands highest at the end, and who lowest, as far as the
// printed figures tell them apart.
func (o outcome) ranking() string {
	measured := slices.DeleteFunc(slices.Clone(o.groups), func(g groupOutcome) bool { return g.measured == 0 })
	if len(measured) < 2 {
		return ""
	}
	slices.SortStableFunc(measured, func(a, b groupOutcome) int { return cmp.Compare(b.final, a.final) })
	printed := func(g groupOutcome) string { return figure.FormatNumber(g.final, 3) }
	level := func(figure string) string {
		var names []string
		for _, g := range measured {
			if printed(g) == figure {
				names = append(names, "**"+g.name+"**")
			}
		}
		return strings.Join(names, " and ")
	}
	high, low := printed(measured[0]), printed(measured[len(measured)-1])
	if high == low {
		return fmt.Sprintf("By `%s` at the end, all are equal (%s).", o.metric, high)
	}
	stands := "stands"
	if printed(measured[1]) == high {
		stands = "stand"
	}
	return fmt.Sprintf("By `%s` at the end, %s %s highest (%s) and %s lowest (%s).", o.metric, level(high), stands, high, level(low), low)
}

// blocks are the table of outcomes, what must be said next to it, and the chart
// of the metric that outcomes are judged by.
func (o outcome) blocks(groups []RunGroup, terms []Term) []Block {
	t := &figure.Figure{Kind: figure.Table, Title: "Every recipe, means over its seeds",
		Columns: []figure.Column{{Name: "recipe"}, {Name: "verdict"}, {Name: "seeds"}, {Name: "steps", Align: figure.Right}}}
	if o.metric != "" {
		t.Columns = append(t.Columns, figure.Column{Name: "peak", Align: figure.Right}, figure.Column{Name: "final", Align: figure.Right},
			figure.Column{Name: "lowest to highest", Unit: "final", Align: figure.Right}, figure.Column{Name: "lost", Unit: "of the peak", Align: figure.Right})
		t.Note = fmt.Sprintf("Judged by `%s`. Peak and final are means of %d consecutive values of a run; a run that never rises above its start has the start as its peak. %s",
			o.metric, record.Window, record.CollapseRule())
	}
	var blocks []Block
	if o.metric != "" {
		c := ChartOf(groups, o.metric, terms)
		blocks = append(blocks, &c)
	}
	blocks = append(blocks, t)
	repeats := 0
	for i, g := range groups {
		row, repeated := o.row(i, g), g.Repeats
		repeats += repeated
		t.Add(row...)
		for _, r := range g.Runs {
			if r.Summary != nil && r.Summary.Status == record.StatusStopped {
				blocks = append(blocks, Prose(fmt.Sprintf("**%s**, seed %d stopped early: %s.", g.Name, r.Seed, strings.TrimSuffix(r.Summary.Reason, "."))))
			}
		}
	}
	if repeats > 0 {
		blocks = append(blocks, Prose(figure.Count(repeats, "run")+" left out: the same recipe and seed are already shown."))
	}
	return blocks
}

// row is one line of the table.
func (o outcome) row(i int, g RunGroup) []figure.Cell {
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
	row := []figure.Cell{figure.Word(g.Name), Verdict(q.verdicts), figure.Word(strings.Join(seeds, ", ")), {Text: steps, Value: float64(most), Numeric: true}}
	switch {
	case o.metric == "":
	case q.measured == 0:
		row = append(row, figure.Cell{}, figure.Cell{}, figure.Cell{}, figure.Cell{})
	default:
		spread := figure.Cell{}
		if q.measured > 1 {
			spread = figure.Word(figure.FormatNumber(q.low, 3) + " to " + figure.FormatNumber(q.high, 3))
		}
		row = append(row, figure.Number(q.peak, 3), figure.Number(q.final, 3), spread, figure.Percent(q.lost, 0))
	}
	return row
}
