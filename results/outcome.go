package results

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"path/filepath"
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

// shown is a verdict in a table: data keep the shorter words.
func shown(v record.Verdict) string {
	switch v {
	case record.DeadAtOnce:
		return "collapsed at once"
	case record.NotCollapsed:
		return "no collapse"
	}
	return string(v)
}

// Verdict sums up the verdicts of the runs of one recipe: how many have which,
// or that no run collapsed.
func Verdict(list []record.Verdict) figure.Cell {
	count := map[record.Verdict]int{}
	for _, f := range list {
		count[f]++
	}
	var words []string
	for _, f := range record.Verdicts {
		switch {
		case len(list) == 1 && count[f] == 1:
			words = append(words, shown(f))
		case count[f] > 0 && (f != record.NotCollapsed || count[f] == len(list)):
			words = append(words, fmt.Sprintf("%s %d of %d", shown(f), count[f], len(list)))
		}
	}
	badge := figure.Word(strings.Join(words, ", "))
	switch lost := count[record.Stopped] + count[record.DeadAtOnce] + count[record.Collapsed]; {
	case len(list) == 0:
		return figure.Word(string(record.NotJudged)).As(figure.Muted)
	case count[record.NotCollapsed] == len(list):
		return badge.As(figure.Good)
	case lost == len(list):
		return badge.As(figure.Bad)
	case lost+count[record.NeverLearned]+count[record.Running] > 0:
		return badge.As(figure.Warn)
	}
	return badge.As(figure.Muted)
}

// RunGroup is what is one line in a chart: the runs of one recipe that differ
// in nothing but the seed.
type RunGroup struct {
	// Name is the recipe's; where two recipes share it, the first line in which
	// they differ is added.
	Name string
	// Slot is the group's colour as Series.Slot; 0 takes the group's place.
	Slot int
	// Runs are in the order of their seeds, one for each.
	Runs []*record.Record
	// Repeats counts runs left out because their recipe and seed were there already.
	Repeats int
}

// Group sorts records into groups, in the order in which the recipes first
// appear. Equal names do not make equal recipes: only runs whose recipes agree
// in every line but the seed's are taken together.
func Group(records []*record.Record) []RunGroup {
	var groups []RunGroup
	var bodies []string // the recipe without its seed, per group
	for _, r := range records {
		body := withoutSeed(r.Recipe)
		i := slices.Index(bodies, body)
		if i < 0 {
			i = len(groups)
			bodies = append(bodies, body)
			groups = append(groups, RunGroup{Name: groupName(r, body, groups, bodies)})
		}
		g := &groups[i]
		if slices.ContainsFunc(g.Runs, func(o *record.Record) bool { return o.Seed == r.Seed }) {
			g.Repeats++
			continue
		}
		g.Runs = append(g.Runs, r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.Runs, func(a, b *record.Record) int { return cmp.Compare(a.Seed, b.Seed) })
	}
	return groups
}

// withoutSeed is the recipe less its seed, a line of its own at the top level.
func withoutSeed(recipe []byte) string {
	lines := bytes.Split(recipe, []byte("\n"))
	lines = slices.DeleteFunc(lines, func(line []byte) bool { return bytes.HasPrefix(line, []byte("seed:")) })
	return string(bytes.Join(lines, []byte("\n")))
}

// groupName is the recipe's name, made different from that of other groups.
func groupName(r *record.Record, body string, groups []RunGroup, bodies []string) string {
	name := r.Name
	if name == "" {
		name = filepath.Base(r.Dir)
	}
	for i, g := range groups {
		if g.Name != name {
			continue
		}
		was, now := strings.Split(bodies[i], "\n"), strings.Split(body, "\n")
		k := 0
		for k < len(was) && k < len(now) && was[k] == now[k] {
			k++
		}
		if k < len(now) && strings.TrimSpace(now[k]) != "" {
			name += " (" + strings.TrimSpace(now[k]) + ")"
		}
		break
	}
	for n, base := 2, name; slices.ContainsFunc(groups, func(g RunGroup) bool { return g.Name == name }); n++ {
		name = base + " #" + strconv.Itoa(n)
	}
	return name
}

// arm is the group's line in a chart of the metric; it has no seeds if no run
// logged the metric.
func (g *RunGroup) arm(metric string) figure.Series {
	arm := figure.Series{Name: g.Name}
	for _, r := range g.Runs {
		c := r.Column(metric)
		if c == nil {
			continue
		}
		curve := figure.Series{Name: fmt.Sprintf("seed %d", r.Seed), X: make([]float64, len(c.Step)), Y: c.Value}
		for i, s := range c.Step {
			curve.X[i] = float64(s)
		}
		arm.Seeds = append(arm.Seeds, curve)
	}
	return arm
}

// mostShown and mostFolded bound the values of a chart on a page, in sight and
// in a fold: a page of thirty runs stays below two megabytes.
const mostShown, mostFolded = 5000, 2000

// ChartOf draws a metric for all groups; groups that never logged it are left
// out and the others keep their colour. The y axis is chosen by the data:
// shares of prompts from 0 to 1, and decades for a gap that spans more than two.
func ChartOf(groups []RunGroup, metric string, terms []Term) figure.Figure {
	return chartOf(groups, metric, terms, (*RunGroup).arm)
}

// chartOf is ChartOf with lines made by arm.
func chartOf(groups []RunGroup, metric string, terms []Term, arm func(g *RunGroup, metric string) figure.Series) figure.Figure {
	c := figure.Figure{Kind: figure.Lines, Title: titleOf(metric, terms), Metric: metric, X: figure.Axis{Label: "step"}, Most: mostShown}
	if c.Title == metric {
		c.Metric = ""
	}
	for _, t := range terms {
		if t.Name == metric {
			c.Y.Label = t.Unit
		}
	}
	low, high, least := 0.0, 0.0, 0.0
	first := true
	for i := range groups {
		arm := arm(&groups[i], metric)
		if len(arm.Seeds) == 0 {
			continue
		}
		if arm.Slot = groups[i].Slot; arm.Slot == 0 {
			arm.Slot = i + 1
		}
		c.Series = append(c.Series, arm)
		for _, s := range arm.Seeds {
			for _, y := range s.Y {
				if !finite(y) {
					continue
				}
				if first {
					low, high, first = y, y, false
				}
				low, high = min(low, y), max(high, y)
				if y > 0 && (least == 0 || y < least) {
					least = y
				}
			}
		}
	}
	switch {
	case strings.HasSuffix(metric, "pass_rate") && low >= 0 && high <= 1:
		c.Y.High = 1
	case isGap(metric) && low >= 0 && least > 0 && high > 100*least:
		c.Y.Log = true
	}
	return c
}

// isGap reports whether a metric is a divergence or a difference, which are
// read in decades.
func isGap(metric string) bool {
	for _, prefix := range []string{"gap/", "rollout_corr/", "routes/flipped", "routes/rest", "actor/grad_norm"} {
		if strings.HasPrefix(metric, prefix) {
			return true
		}
	}
	return false
}
