package results

import (
	"cmp"
	_ "embed" // of the areas
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats/passk"

	"go.yaml.in/yaml/v4"
)

// area is a section of the report: metrics by prefix, the main ones first.
type area struct {
	Heading  string
	Prose    Prose
	Prefixes []string
	Main     []struct{ Metric, Title string }
}

//go:embed areas.yaml
var areasText []byte

var areas = sync.OnceValue(func() (list []area) {
	if err := yaml.Load(areasText, &list, yaml.WithKnownFields()); err != nil {
		panic("results: areas.yaml: " + err.Error()) // every report reads it
	}
	return list
})

// titleOf is the metric's short name, or the metric itself.
func titleOf(metric string, terms []Term) string {
	for _, t := range terms {
		if t.Name == metric && t.Title != "" {
			return t.Title
		}
	}
	for _, a := range areas() {
		for _, m := range a.Main {
			if m.Metric == metric && m.Title != "" {
				return m.Title
			}
		}
	}
	return metric
}

// FromRuns builds the report of any set of runs: a table of outcomes, a chart
// for every metric on record with seeds as bands, the recipes to run again, and
// the terms of the glossary that occur.
func FromRuns(records []*record.Record, glossary ...Term) Report {
	return fromGroups(Group(records), records, glossary)
}

// FromGroups is FromRuns of groups that have their names and colours.
func FromGroups(groups []RunGroup, glossary ...Term) Report {
	var records []*record.Record
	for _, g := range groups {
		records = append(records, g.Runs...)
	}
	return fromGroups(groups, records, glossary)
}

// fromGroups takes all records, which are more than the groups' where runs are
// repeated.
func fromGroups(groups []RunGroup, records []*record.Record, glossary []Term) Report {
	names := MetricNames(records)
	r := Report{Eyebrow: "simulate report", Facts: facts(records, groups)}
	r.Title = figure.Count(len(groups), "recipe") + ", " + figure.Count(len(records), "run")
	if len(groups) == 1 {
		r.Title = groups[0].Name
	}
	outcome := outcomes(groups, JudgedBy(records))
	r.Lead = outcome.lead(len(records))
	r.Sections = append(r.Sections, Section{Heading: "Outcome", Blocks: outcome.blocks(groups, glossary)})
	left := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == outcome.metric })
	if s, ok := clockSection(groups, outcome.metric, glossary); ok {
		r.Sections = append(r.Sections, s)
	}
	if c := PassAtKOf(groups); len(c.Series) > 0 {
		blocks := []Block{Charts{c}}
		for _, by := range passRatesOf(groups) { // of other axes: their cursors stay separate
			blocks = append(blocks, Charts{by})
		}
		r.Sections = append(r.Sections, Section{Heading: "Several attempts", Blocks: blocks})
	}
	for _, a := range areas() {
		if s, ok := a.section(groups, &left, glossary); ok {
			r.Sections = append(r.Sections, s)
		}
	}
	for _, g := range groups {
		r.Reruns = append(r.Reruns, rerun(g))
	}
	r.Glossary = slices.DeleteFunc(slices.Clone(glossary), func(t Term) bool { return !slices.Contains(names, t.Name) })
	return r
}

// MetricNames lists every metric on record, in the order of first appearance.
func MetricNames(records []*record.Record) []string {
	var names []string
	for _, r := range records {
		for _, c := range r.Columns {
			if !slices.Contains(names, c.Name) {
				names = append(names, c.Name)
			}
		}
	}
	return names
}

// JudgedBy is the metric that says best what became of a set of runs: an
// evaluation if there is one, else the training reward; empty if neither is on
// record.
func JudgedBy(records []*record.Record) string {
	names := MetricNames(records)
	for _, want := range []string{"val/learner/pass_rate", "val/rollout/pass_rate", "critic/score/mean", "critic/rewards/mean"} {
		if slices.Contains(names, want) {
			return want
		}
	}
	return ""
}

func facts(records []*record.Record, groups []RunGroup) []Fact {
	steps, finished, seeds := 0, 0, map[uint64]bool{}
	for _, r := range records {
		steps, seeds[r.Seed] = max(steps, r.Steps), true
		if r.Summary != nil {
			finished++
		}
	}
	return []Fact{{"recipes", strconv.Itoa(len(groups))}, {"runs", strconv.Itoa(len(records))},
		{"finished", strconv.Itoa(finished)}, {"seeds", strconv.Itoa(len(seeds))}, {"longest run", figure.Count(steps, "step")}}
}

// section takes the area's metrics out of left and charts them: the main
// ones in sight, the rest in a fold.
func (a area) section(groups []RunGroup, left *[]string, terms []Term) (Section, bool) {
	var mine, rest []string
	for _, name := range *left {
		if slices.ContainsFunc(a.Prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			mine = append(mine, name)
		} else {
			rest = append(rest, name)
		}
	}
	*left = rest
	if len(mine) == 0 {
		return Section{}, false
	}
	var open, folded Charts
	for _, m := range a.Main {
		if i := slices.Index(mine, m.Metric); i >= 0 {
			open, mine = append(open, ChartOf(groups, m.Metric, terms)), slices.Delete(mine, i, i+1)
		}
	}
	for _, name := range mine {
		c := ChartOf(groups, name, terms)
		c.Most = mostFolded
		folded = append(folded, c)
	}
	s := Section{Heading: a.Heading}
	if a.Prose != "" {
		s.Blocks = append(s.Blocks, a.Prose)
	}
	if len(open) > 0 {
		s.Blocks = append(s.Blocks, open)
	}
	if len(folded) > 0 {
		s.Blocks = append(s.Blocks, Fold{Summary: figure.Count(len(folded), "more metric"), Blocks: []Block{folded}})
	}
	return s, true
}

func rerun(g RunGroup) Rerun {
	a := Rerun{Name: g.Name}
	for i, r := range g.Runs {
		if i > 0 {
			a.Command += "\n"
		}
		a.Command += fmt.Sprintf("simulate train %s --seed %d", record.ShellWord(filepath.ToSlash(filepath.Join(g.Runs[0].Dir, record.RecipeFile))), r.Seed)
	}
	if len(g.Runs) > 0 {
		a.Recipe = string(g.Runs[0].Recipe)
	}
	return a
}

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
// printed figures distinguish them.
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
	lines := strings.Split(string(recipe), "\n")
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "seed:") }), "\n")
}

// groupName is the recipe's name, made different from that of other groups.
func groupName(r *record.Record, body string, groups []RunGroup, bodies []string) string {
	name := cmp.Or(r.Name, filepath.Base(r.Dir))
	named := func(g RunGroup) bool { return g.Name == name }
	if i := slices.IndexFunc(groups, named); i >= 0 {
		was, now := strings.Split(bodies[i], "\n"), strings.Split(body, "\n")
		k := 0
		for k < len(was) && k < len(now) && was[k] == now[k] {
			k++
		}
		if k < len(now) && strings.TrimSpace(now[k]) != "" {
			name += " (" + strings.TrimSpace(now[k]) + ")"
		}
	}
	for n, base := 2, name; slices.ContainsFunc(groups, named); n++ {
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
	for i := range groups {
		arm := arm(&groups[i], metric)
		if len(arm.Seeds) == 0 {
			continue
		}
		if arm.Slot = groups[i].Slot; arm.Slot == 0 {
			arm.Slot = i + 1
		}
		c.Series = append(c.Series, arm)
	}
	low, high, least := math.Inf(1), math.Inf(-1), math.Inf(1) // of all, and above zero
	for _, y := range values(c.Series) {
		if finite(y) {
			low, high = min(low, y), max(high, y)
			if y > 0 {
				least = min(least, y)
			}
		}
	}
	switch {
	case strings.HasSuffix(metric, "pass_rate") && low >= 0 && high <= 1:
		c.Y.High = 1
	case isGap(metric) && low >= 0 && high > 100*least:
		c.Y.Log = true
	}
	return c
}

// isGap reports whether a metric is a divergence or a difference, which are
// read in decades.
func isGap(metric string) bool {
	return slices.ContainsFunc([]string{"gap/", "rollout_corr/", "routes/flipped", "routes/rest", "actor/grad_norm"}, func(prefix string) bool { return strings.HasPrefix(metric, prefix) })
}

// ticksMetric is the virtual time of a step on record; a tick of the default costs is
// a microsecond.
const ticksMetric = "clock/ticks"

func seconds(ticks int) float64 { return float64(ticks) / 1e6 }

// mostLanes bounds the workers of a timeline.
const mostLanes = 24

// TimelineOf draws the learner and the workers of a clock, or some of these if they
// are many.
func TimelineOf(c *record.Clock) *figure.Figure {
	shown := min(mostLanes, c.Workers)
	t := &figure.Figure{Kind: figure.Timeline,
		Title: fmt.Sprintf("%s: the learner and %d of %d workers", c.System, shown, c.Workers),
		X:     figure.Axis{Label: "s", Low: seconds(c.From), High: seconds(c.To)},
		Y:     figure.Axis{Label: "height: share of busy slots, half for prefill and scoring; grey: transfer of weights; low: waiting for tools"},
		Lanes: []figure.Lane{{Name: "learner"}},
	}
	row := map[int]int{-1: 0}
	for i := range shown {
		worker := i * c.Workers / shown
		row[worker] = len(t.Lanes)
		t.Lanes = append(t.Lanes, figure.Lane{Name: fmt.Sprintf("worker %d", worker)})
	}
	for _, s := range c.Spans {
		i, ok := row[s.Lane]
		if !ok || s.From >= c.To || s.To <= c.From {
			continue
		}
		span := figure.Span{From: seconds(s.From), To: seconds(s.To), Version: s.Version, Share: 1}
		switch s.Activity {
		case "generating":
			span.Share = s.Busy
		case "scoring", "prefilling":
			span.Share = 0.5
		case "loading", "pushing":
			span.Version = -1
		case "calling":
			span.Version, span.Share = -1, 0.15
		}
		t.Lanes[i].Spans = append(t.Lanes[i].Spans, span)
	}
	return t
}

// mostLags bounds the rows of a lag histogram; the last has all above it.
const mostLags = 20

// LagsOf is the lag histogram of a clock, over its whole run.
func LagsOf(c *record.Clock) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: c.System + ": staleness of the trained tokens and samples, over the whole run", Y: figure.Axis{Label: "percent, by lag in published versions"}}
	rows := min(max(len(c.Lags), len(c.TokenLags)), mostLags)
	for lag := range rows {
		name := strconv.Itoa(lag)
		if lag == mostLags-1 && max(len(c.Lags), len(c.TokenLags)) > mostLags {
			name += " or more"
		}
		b.Labels = append(b.Labels, name)
	}
	for _, g := range []struct {
		name   string
		counts []int
	}{{"samples, by their oldest token", c.Lags}, {"tokens", c.TokenLags}} {
		all, shares := 0, make([]float64, rows)
		for _, n := range g.counts {
			all += n
		}
		for lag, n := range g.counts {
			shares[min(lag, rows-1)] += 100 * float64(n) / float64(all)
		}
		b.Series = append(b.Series, figure.Series{Name: g.name, Y: shares})
	}
	return b
}

// TimeChartOf is ChartOf over virtual time instead of steps. Runs without a clock
// are not on it. Seeds reach a step at different times: where a line has several,
// each is read off at the same times, between its neighbours, as far as all go.
func TimeChartOf(groups []RunGroup, metric string, terms []Term) figure.Figure {
	c := chartOf(groups, metric, terms, (*RunGroup).timed)
	c.X.Label = "virtual time, s"
	c.Title += " against virtual time"
	return c
}

func (g *RunGroup) timed(metric string) figure.Series {
	without := func(r *record.Record) bool { return r.Column(ticksMetric) == nil || r.Column(metric) == nil }
	clocked := RunGroup{Name: g.Name, Runs: slices.DeleteFunc(slices.Clone(g.Runs), without)}
	arm := clocked.arm(metric)
	for i, s := range arm.Seeds {
		ticks := clocked.Runs[i].Column(ticksMetric)
		for k, step := range s.X {
			s.X[k] = 0 // the evaluation before the first update
			if t, ok := ticks.At(int(step)); ok {
				s.X[k] = t / 1e6
			}
		}
	}
	if len(arm.Seeds) > 1 {
		align(arm.Seeds)
	}
	return arm
}

// align gives curves the same X, as many as the shortest has, from the latest first
// one to the earliest last.
func align(curves []figure.Series) {
	from, to, n := math.Inf(-1), math.Inf(1), math.MaxInt
	for _, c := range curves {
		from, to, n = max(from, c.X[0]), min(to, c.X[len(c.X)-1]), min(n, len(c.X))
	}
	if to <= from {
		n = 1
	}
	for i, c := range curves {
		x, y := make([]float64, n), make([]float64, n)
		for k := range n {
			x[k] = from + float64((to-from)*float64(k)/float64(max(n-1, 1)))
			if k == n-1 && n > 1 {
				x[k] = to
			}
			y[k] = interpolated(&c, x[k])
		}
		curves[i].X, curves[i].Y = x, y
	}
}

// interpolated is a curve's value at x, on the line between its neighbours.
func interpolated(c *figure.Series, x float64) float64 {
	i, found := slices.BinarySearch(c.X, x)
	switch {
	case found:
		return c.Y[i]
	case i == 0:
		return c.Y[0]
	case i == len(c.X):
		return c.Y[i-1]
	}
	share := (x - c.X[i-1]) / (c.X[i] - c.X[i-1])
	return float64(c.Y[i-1]*(1-share)) + float64(c.Y[i]*share)
}

// clockSection shows what the clocks of the runs say: reward against virtual time
// in addition to reward against steps, and of each group's first run the timeline and how
// old its tokens were.
func clockSection(groups []RunGroup, judged string, terms []Term) (s Section, ok bool) {
	s = Section{Heading: "On the virtual clock", Blocks: []Block{Prose("An asynchronous schedule runs in virtual time, which is computed from the costs in the recipe. " +
		"A step is drawn at the end of its training. Runs without a clock are not drawn over time.")}}
	for _, metric := range slices.Compact([]string{judged, "critic/score/mean"}) {
		if over := TimeChartOf(groups, metric, terms); len(over.Series) > 0 {
			beside := ChartOf(groups, metric, terms)
			beside.Title += " against steps"
			s.Blocks = append(s.Blocks, Charts{over, beside})
			ok = true
		}
	}
	var drawings []Block
	for _, g := range groups {
		if c := g.Runs[0].Clock; c != nil {
			timeline, lags := TimelineOf(c), LagsOf(c)
			timeline.Note = fmt.Sprintf("Who generates, trains and waits in **%s**, seed %d, over its last updates, %s to %s s; the colour is the version of the weights. "+
				"It ends at the start of the last recorded training.", g.Name, g.Runs[0].Seed, figure.FormatNumber(seconds(c.From), 4), figure.FormatNumber(seconds(c.To), 4))
			lags.Note = "The staleness is counted from the version published when the training began. Replayed groups are counted once."
			drawings = append(drawings, timeline, lags)
		}
	}
	if ok = ok || len(drawings) > 0; len(groups) > 1 && len(drawings) > 0 {
		drawings = []Block{Fold{Summary: "Timelines and staleness", Blocks: drawings}}
	}
	s.Blocks = append(s.Blocks, drawings...)
	return s, ok
}

// The metrics of an evaluation with several samples per prompt.
const (
	passOne   = "val/learner/pass_rate"
	passAtK   = "val/learner/pass@"
	passAlpha = "val/learner/pass_beta/alpha"
	passBeta  = "val/learner/pass_beta/beta"
)

// farthestK is how far pass@k is drawn beyond the samples, by the fitted Beta
// distribution.
const farthestK = 1024

// PassAtKOf draws pass@k over k: of one group before training and at its end, of
// several at their ends. What was counted is one line; another goes on from there by
// the Beta distribution of the prompts' pass rates. Without several samples per
// prompt the chart has no arms.
func PassAtKOf(groups []RunGroup) figure.Figure {
	return atEnds(groups, figure.Figure{Title: "Pass@k", X: figure.Axis{Label: "k, as a power of two"}, Y: figure.Axis{Label: "share of prompts solved within k responses"},
		Note: "Unbiased estimate from counts up to the number of samples; beyond it, from the Beta distribution fitted to the prompts' pass rates (simulate methods recipe, eval.samples)."},
		passCurves, "", ", fitted")
}

// atEnds completes a chart of shares with lines of the evaluations that it shows, those before and after training of one group alone, the
// last ones of several: for each as many as there are endings of its name, which the curves of a run at that evaluation become the seeds of.
func atEnds(groups []RunGroup, c figure.Figure, curves func(r *record.Record, at func(*record.Column) int) []figure.Series, endings ...string) figure.Figure {
	c.Kind, c.Y.High = figure.Lines, 1
	last := func(c *record.Column) int { return len(c.Value) - 1 }
	for _, g := range groups {
		ends := []end{{g.Name, last}}
		if len(groups) == 1 {
			ends = []end{{"before training", func(*record.Column) int { return 0 }}, {"at the end", last}}
		}
		for _, end := range ends {
			arms := make([]figure.Series, len(endings))
			for i, ending := range endings {
				arms[i] = figure.Series{Name: end.name + ending, Slot: len(c.Series)/len(endings) + 1}
			}
			for _, r := range g.Runs {
				if list := curves(r, end.at); len(list[0].X) > 0 {
					for i := range arms {
						arms[i].Seeds = append(arms[i].Seeds, list[i])
					}
				}
			}
			if len(arms[0].Seeds) > 0 {
				c.Series = append(c.Series, arms...)
			}
		}
	}
	return c
}

// end is an evaluation of a run: its name in a chart, and its place in a column that
// every evaluation has.
type end struct {
	name string
	at   func(*record.Column) int
}

// passCurves are pass@k of a run's evaluation, counted and beyond.
func passCurves(r *record.Record, at func(*record.Column) int) []figure.Series {
	curves := []figure.Series{{Name: fmt.Sprintf("seed %d", r.Seed)}, {Name: fmt.Sprintf("seed %d", r.Seed)}}
	counted, fitted := &curves[0], &curves[1]
	alpha, beta, one := r.Column(passAlpha), r.Column(passBeta), r.Column(passOne)
	if alpha == nil || beta == nil || one == nil {
		return curves
	}
	i := at(alpha)
	counted.X, counted.Y = []float64{0}, []float64{one.Value[i]}
	samples := 1
	for _, column := range r.Columns {
		if k, err := strconv.Atoi(strings.TrimPrefix(column.Name, passAtK)); err == nil && k > samples {
			samples = k
			counted.X, counted.Y = append(counted.X, logTwo(k)), append(counted.Y, column.Value[i])
		}
	}
	fit := passk.Beta{Alpha: alpha.Value[i], Beta: beta.Value[i]}
	for k := samples; k <= farthestK; k *= 2 {
		fitted.X, fitted.Y = append(fitted.X, logTwo(k)), append(fitted.Y, fit.PassAt(k))
	}
	return curves
}

func logTwo(k int) float64 { return elementary.Log(float64(k)) / math.Ln2 }

// passFamilies are pass rates that an evaluation with several samples per prompt sorts
// by something.
var passFamilies = []struct{ prefix, title, by, caption string }{
	{"val/learner/pass_rate_at/", "Pass rate by difficulty", "difficulty", "Held-out prompts, by the difficulty of the task."},
	{"val/learner/pass_rate_of_length/", "Pass rate by length", "tokens, up to", "Responses by length, in eighths of the maximum length."},
}

// passRatesOf draws pass rates by difficulty and by length, before and after training
// as PassAtKOf does. Without several samples per prompt there are no charts.
func passRatesOf(groups []RunGroup) []figure.Figure {
	var charts []figure.Figure
	for _, f := range passFamilies {
		c := atEnds(groups, figure.Figure{Title: f.title, X: figure.Axis{Label: f.by}, Y: figure.Axis{Label: "pass rate"}, Note: f.caption},
			func(r *record.Record, at func(*record.Column) int) []figure.Series {
				return []figure.Series{ratesBy(r, f.prefix, at)}
			}, "")
		if len(c.Series) > 0 {
			charts = append(charts, c)
		}
	}
	return charts
}

// ratesBy are the values of a family of columns at one evaluation of a run, by the
// number that ends their names. A column may lack the evaluation.
func ratesBy(r *record.Record, prefix string, at func(*record.Column) int) figure.Series {
	curve := figure.Series{Name: fmt.Sprintf("seed %d", r.Seed)}
	one := r.Column(passOne)
	if one == nil || len(one.Value) == 0 {
		return curve
	}
	var points [][2]float64
	for i := range r.Columns {
		column := &r.Columns[i]
		x, err := strconv.Atoi(strings.TrimPrefix(column.Name, prefix))
		if !strings.HasPrefix(column.Name, prefix) || err != nil {
			continue
		}
		if y, ok := column.At(one.Step[at(one)]); ok {
			points = append(points, [2]float64{float64(x), y})
		}
	}
	slices.SortFunc(points, func(a, b [2]float64) int { return int(a[0] - b[0]) })
	for _, p := range points {
		curve.X, curve.Y = append(curve.X, p[0]), append(curve.Y, p[1])
	}
	return curve
}
