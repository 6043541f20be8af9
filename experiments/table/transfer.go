package table

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// transfer says whether a ranking of settings transfers.
type transfer struct {
	// Tasks is the primary check: between tasks, under the same stressor.
	Tasks stats.Interval
	// Rows are all correlations, the primary one among them.
	Rows []transferRow
}

// transferRow is the rank correlation between two rankings.
type transferRow struct {
	// Between is the kind: tasks, scales, base models, learning rates, common and tuned rate, stressors.
	Between string
	// A and B are compared, Within says where.
	A, B, Within string
	// Settings is how many settings the smallest comparison has.
	Settings int
	stats.Interval
}

// transferBound is the rank correlation that the primary check compares with.
const transferBound = 0.5

// commonRate is the learning rate of the comparison at one rate for all: the one of the stages
// models and doses.
const commonRate = "1e-3"

// transfer works out the correlations.
func (t *Tuned) transfer() *transfer {
	x := &transfer{}
	tuned := map[string]*gains{}
	var names []string
	for i := range t.Tasks {
		names = append(names, t.Tasks[i].Name)
		tuned[t.Tasks[i].Name] = t.Tasks[i].gains()
	}
	x.betweenTasks(names, tuned)
	for i := range t.Scales {
		s := &t.Scales[i]
		if at := tuned[s.TunedOn]; at != nil {
			list := same(at, s.gains(), false)
			for _, c := range list {
				x.add("scales", s.TunedOn, s.Name, c.under, []comparison{c})
			}
			x.add("scales", s.TunedOn, s.Name, "mean over the stressors", list)
		}
	}
	for _, task := range names {
		x.betweenModels(task, tuned[task])
	}
	for _, task := range names {
		x.betweenRates(task, t.Rates, t.tuning[task])
	}
	for _, task := range names {
		common := gainsAt(t.tuning[task], commonRate)
		x.add("common and tuned rate", commonRate+" for all", "own rates", task, same(common, tuned[task], false))
	}
	for _, task := range names {
		x.betweenStressors(task, tuned[task])
	}
	return x
}

// add appends a row, unless there is nothing to compare.
func (x *transfer) add(between, a, b, within string, list []comparison) stats.Interval {
	r := rankCorrelation(list)
	x.append(between, a, b, within, list, r)
	return r
}

func (x *transfer) append(between, a, b, within string, list []comparison, r stats.Interval) {
	if len(list) == 0 {
		return
	}
	row := transferRow{Between: between, A: a, B: b, Within: within, Interval: r, Settings: len(list[0].settings)}
	for i := range list {
		row.Settings = min(row.Settings, len(list[i].settings))
	}
	x.Rows = append(x.Rows, row)
}

// same compares gains under each stressor that both have.
func same(a, b *gains, together bool) (list []comparison) {
	for _, stressor := range a.stressors {
		if c, ok := compare(a, b, stressor, stressor, together); ok {
			list = append(list, c)
		}
	}
	return list
}

func (x *transfer) betweenTasks(names []string, tuned map[string]*gains) {
	var all []comparison
	pairs := 0
	for i, a := range names {
		for _, b := range names[i+1:] {
			pairs++
			list := same(tuned[a], tuned[b], false)
			all = append(all, list...)
			for _, c := range list {
				x.add("tasks", a, b, c.under, []comparison{c})
			}
			x.add("tasks", a, b, "mean over the stressors", list)
		}
	}
	x.Tasks = rankCorrelation(all)
	if pairs > 1 {
		x.append("tasks", "every task", "every other", "mean over pairs of tasks and stressors", all, x.Tasks)
	}
}

func (x *transfer) betweenModels(task string, g *gains) {
	list := same(g, g, true)
	for _, c := range list {
		x.append("halves of the base models", "one half", "the other half", task+", "+c.under, []comparison{c}, splitHalves([]comparison{c}))
	}
	x.append("halves of the base models", "one half", "the other half", task+", mean over the stressors", list, splitHalves(list))
}

func (x *transfer) betweenRates(task string, rates []string, tunings []Tuning) {
	for i, a := range rates {
		for _, b := range rates[i+1:] {
			x.add("learning rates", a, b, task, same(gainsAt(tunings, a), gainsAt(tunings, b), true))
		}
	}
}

func (x *transfer) betweenStressors(task string, g *gains) {
	for i, a := range g.stressors {
		for _, b := range g.stressors[i+1:] {
			if c, ok := compare(g, g, a, b, true); ok {
				x.add("stressors", a, b, task, []comparison{c})
			}
		}
	}
}

// gains are those of the task's distinct settings at their own rates.
func (t *TunedTask) gains() *gains {
	g := &gains{}
	for i := range t.Settings {
		s := &t.Settings[i]
		for j := range s.Effects {
			if s.tested(j) {
				g.add(s.Name, t.Problems[j].Name, s.Effects[j].byModel)
			}
		}
	}
	g.inOrder(t.Problems)
	return g
}

// inOrder puts the stressors in the order of the problems.
func (g *gains) inOrder(problems []TunedProblem) {
	slices.SortStableFunc(g.stressors, func(a, b string) int {
		at := func(name string) int {
			return slices.IndexFunc(problems, func(p TunedProblem) bool { return p.Name == name })
		}
		return at(a) - at(b)
	})
}

// gainsAt are the gains of the tuning stage where setting and control have the same learning rate.
func gainsAt(tunings []Tuning, rate string) *gains {
	g := &gains{}
	for i := range tunings {
		t := &tunings[i]
		k := slices.Index(t.Rates, rate)
		none := slices.IndexFunc(tunings, func(o Tuning) bool { return o.Method == control && o.Stressor == t.Stressor })
		if k < 0 || none < 0 || t.Method == control || t.idle {
			continue
		}
		g.add(t.Method, t.Stressor, stats.Differences(t.ByModel[k], tunings[none].ByModel[k]))
	}
	return g
}

// Do the rankings of two comparisons agree? Spearman's rank correlation of the gains of their
// settings, with an interval over settings and base models.

// gains are those of settings under stressors, a value for each base model; none where a setting
// cannot act, or is not there.
type gains struct {
	stressors []string
	// by is by setting and stressor.
	by map[string]map[string][]float64
}

// add puts a setting's gains under a stressor there.
func (g *gains) add(setting, stressor string, byModel []float64) {
	if g.by == nil {
		g.by = map[string]map[string][]float64{}
	}
	if g.by[setting] == nil {
		g.by[setting] = map[string][]float64{}
	}
	g.by[setting][stressor] = byModel
	if !slices.Contains(g.stressors, stressor) {
		g.stressors = append(g.stressors, stressor)
	}
}

// comparison are two lists of gains whose rankings are compared under a stressor of each.
type comparison struct {
	under    string      // the stressor, the first of two
	settings []string    // that both have, in alphabetical order
	a, b     [][]float64 // their gains by setting and base model
	together bool        // both have the same base models, which are drawn together
}

// compare pairs the gains under a stressor of each; ok is false with fewer than four settings.
func compare(a, b *gains, underA, underB string, together bool) (c comparison, ok bool) {
	c = comparison{under: underA, together: together}
	for setting, own := range a.by {
		if own[underA] != nil && b.by[setting][underB] != nil {
			c.settings = append(c.settings, setting)
		}
	}
	slices.Sort(c.settings)
	for _, setting := range c.settings {
		c.a, c.b = append(c.a, a.by[setting][underA]), append(c.b, b.by[setting][underB])
	}
	return c, len(c.settings) >= leastSettings
}

// leastSettings is how many make a rank correlation worth a figure.
const leastSettings = 4

// rankResamples is the number of bootstrap resamples behind an interval of rank correlations, and
// rankSeed starts their generator.
const (
	rankResamples = 2000
	rankSeed      = 0x5bea
)

// rho is the rank correlation over the settings given by their places, from the models given.
func (c *comparison) rho(places []int, ofA, ofB []int) float64 {
	x, y := make([]float64, len(places)), make([]float64, len(places))
	for i, at := range places {
		x[i], y[i] = meanOf(c.a[at], ofA), meanOf(c.b[at], ofB)
	}
	return stats.Spearman(x, y)
}

// meanOf is the mean of the values at some places.
func meanOf(values []float64, at []int) float64 {
	sum := 0.0
	for _, i := range at {
		sum += values[i]
	}
	return sum / float64(len(at))
}

// rankCorrelation is the mean of the comparisons' rank correlations. Its interval is the percentile
// bootstrap that draws settings and base models with replacement. N counts the comparisons.
func rankCorrelation(list []comparison) stats.Interval {
	whole := func(n int) []int {
		at := make([]int, n)
		for i := range at {
			at[i] = i
		}
		return at
	}
	return rankInterval(list, func(c *comparison, places []int, rng *rand.Rand) float64 {
		a, b := len(c.a[0]), len(c.b[0])
		if rng == nil {
			return c.rho(places, whole(a), whole(b))
		}
		ofA := draw(rng, a)
		ofB := ofA
		if !c.together {
			ofB = draw(rng, b)
		}
		return c.rho(places, ofA, ofB)
	})
}

// splitHalves is the mean rank correlation between the gains on one half of the base models and on
// the other, over all ways to halve them. Its interval draws settings and a half at random.
func splitHalves(list []comparison) stats.Interval {
	return rankInterval(list, func(c *comparison, places []int, rng *rand.Rand) float64 {
		n := len(c.a[0])
		if rng != nil {
			order := rng.Perm(n)
			return c.rho(places, order[:n/2], order[n/2:])
		}
		var all []float64
		for set := range 1 << n {
			var one, other []int
			for i := range n {
				if set>>i&1 == 1 {
					one = append(one, i)
				} else {
					other = append(other, i)
				}
			}
			if len(one) == n/2 && (2*len(one) < n || one[0] == 0) { // each split once
				all = append(all, c.rho(places, one, other))
			}
		}
		return stats.Average(all)
	})
}

// rankInterval is the mean of a figure of comparisons with its bootstrap interval: of is called with
// all settings and no generator for the estimate, and with drawn ones for the resamples.
func rankInterval(list []comparison, of func(c *comparison, places []int, rng *rand.Rand) float64) stats.Interval {
	if len(list) == 0 {
		return stats.Interval{Estimate: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	// The settings of all comparisons are drawn together: the same one may be good in each.
	var names []string
	for i := range list {
		names = append(names, list[i].settings...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	mean := func(pick []int, rng *rand.Rand) float64 {
		sum, n := 0.0, 0
		for i := range list {
			c := &list[i]
			var places []int
			for _, k := range pick {
				if at, ok := slices.BinarySearch(c.settings, names[k]); ok {
					places = append(places, at)
				}
			}
			if len(places) < leastSettings {
				continue
			}
			if v := of(c, places, rng); !math.IsNaN(v) {
				sum, n = sum+v, n+1
			}
		}
		return sum / float64(n)
	}
	all := make([]int, len(names))
	for i := range all {
		all[i] = i
	}
	out := stats.Interval{Estimate: mean(all, nil), N: len(list)}
	rng := rand.New(rand.NewPCG(rankSeed, uint64(len(names))))
	var draws []float64
	for range rankResamples {
		if v := mean(draw(rng, len(names)), rng); !math.IsNaN(v) {
			draws = append(draws, v)
		}
	}
	slices.Sort(draws)
	out.Low, out.High = stats.Quantile(draws, 0.025), stats.Quantile(draws, 0.975)
	return out
}

// draw are n places of n, with replacement.
func draw(rng *rand.Rand, n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = rng.IntN(n)
	}
	return at
}

// largestGains are the settings with the largest mean gain under a stressor, at most so many.
func largestGains(g *gains, stressor string, most int) []string {
	var names []string
	for setting, own := range g.by {
		if own[stressor] != nil {
			names = append(names, setting)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(stats.Average(g.by[b][stressor]), stats.Average(g.by[a][stressor])), strings.Compare(a, b))
	})
	return names[:min(most, len(names))]
}

// The files of the comparison at tuned learning rates.
const (
	wordsFile        = "tuned.md"
	sheetFile        = "tuned.csv"
	transferFile     = "transfer.md"
	transferDrawFile = "transfer.png"
)

// transferVerdict is the primary check in a word, with its reason.
func transferVerdict(i stats.Interval) string {
	figures := fmt.Sprintf("Spearman's ρ is %.2f (95 %% CI %.2f to %.2f)", i.Estimate, i.Low, i.High)
	switch {
	case i.N == 0:
		return "No verdict: two tasks are needed."
	case i.Low > transferBound:
		return fmt.Sprintf("A ranking of settings **transfers between tasks**: %s, which lies above %.1f.", figures, transferBound)
	case i.High < transferBound:
		return fmt.Sprintf("A ranking of settings **does not transfer between tasks**: %s, which lies below %.1f.", figures, transferBound)
	}
	return fmt.Sprintf("Whether a ranking of settings transfers between tasks is **undecided**: %s, and the declared bound is %.1f.", figures, transferBound)
}

// table lists the rows of the kinds named.
func (x *transfer) table(title, note string, between ...string) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: title, Note: note, Columns: []figure.Column{{Name: "between"}, {Name: "and"}, {Name: "within"}, number("ρ"), {Name: "95 % CI"}, number("settings"), number("comparisons")}}
	for _, r := range x.Rows {
		for _, kind := range between {
			if r.Between == kind {
				t.Add(figure.Word(r.A), figure.Word(r.B), figure.Word(r.Within), signed(r.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", r.Low, r.High)), count(r.Settings), count(r.N))
			}
		}
	}
	return t
}

// missingText says what is not there yet.
func (t *Tuned) missingText() string {
	if len(t.Missing) == 0 {
		return ""
	}
	return "Not there yet: " + strings.Join(t.Missing, "; ") + ". `simulate sweep tune`, `simulate sweep transfer` and `simulate sweep scales` go on from the published folders (`results/published/README.md` says how)."
}

// transferPage is the page of transfer as Markdown.
func (t *Tuned) transferPage() []byte {
	x := t.transferred
	var b bytes.Buffer
	b.WriteString("# Does a ranking of corrections transfer?\n\n" +
		"Written from the sweeps `tune`, `transfer` and `scales`. Each setting runs at its own learning rate. Its gain is its mean pass rate of the whole run minus that of no correction at that one's own rate. " +
		"A ranking transfers if the settings have the same order by gain elsewhere, measured by Spearman's rank correlation ρ.\n\n")
	b.WriteString(transferVerdict(t.BetweenTasks) + " This is the primary check, declared in the file of the sweep before any of its runs: mean over the pairs of tasks and over the stressors, the interval over settings and base models.\n\n")
	b.WriteString(t.taskText() + "\n\n")
	if text := t.missingText(); text != "" {
		b.WriteString(text + "\n\n")
	}
	fmt.Fprintf(&b, "![Gain of every setting under each stressor of each task](%s)\n\n", transferDrawFile)
	const interval = "Interval: percentile bootstrap that draws settings and base models with replacement."
	for _, table := range []*figure.Figure{
		x.table("Between tasks, under the same stressor", interval, "tasks"),
		x.table("Between the task and larger scales, under the same stressor", "Gains at the learning rates that were tuned on the task with 100 updates of the small model; the base models differ. "+interval, "scales"),
		x.table("Between halves of the base models of a task", "Mean over all ways to halve the base models. Interval: percentile bootstrap that draws settings with replacement, and a half at random. It bounds what a correlation with another task can be: noise in the gains lowers both.", "halves of the base models"),
		x.table("Between learning rates of the tuning stage", fmt.Sprintf("Gains with the same learning rate for setting and control, mean over the stressors; unit: %d base models. %s", t.TuningModels, interval), "learning rates"),
		x.table("Between the common rate "+commonRate+" and the tuned rates", "Gains with the same learning rate for all on the base models of the tuning stage, against gains at tuned rates on the base models of the stage transfer. "+interval, "common and tuned rate"),
		x.table("Between stressors of a task", interval, "stressors"),
	} {
		if len(table.Rows) > 0 {
			b.WriteString(table.Markdown() + "\n")
		}
	}
	b.WriteString(t.rateTable().Markdown())
	if table := t.scaleTable(); len(table.Rows) > 0 {
		b.WriteString("\n" + table.Markdown())
	}
	return b.Bytes()
}

// taskText says what was compared.
func (t *Tuned) taskText() string {
	var parts []string
	for i := range t.Tasks {
		parts = append(parts, fmt.Sprintf("%s (%d settings)", t.Tasks[i].Name, len(t.Tasks[i].Settings)-1))
	}
	if len(parts) == 0 {
		return "No task is whole."
	}
	return fmt.Sprintf("Tasks: %s; %d base models each, 100 updates, model of two layers of width 32 with eight experts.", strings.Join(parts, ", "), t.Models)
}

// rateTable shows how much of a gain at a common learning rate stays when setting and control have
// their own.
func (t *Tuned) rateTable() *figure.Figure {
	table := &figure.Figure{Kind: figure.Table, Title: "Gain at a common learning rate and at tuned ones",
		Columns: []figure.Column{{Name: "task"}, {Name: "stressor"}, {Name: "setting"}, number("gain at " + commonRate), number("gain at tuned rates"), {Name: "95 % CI"}, {Name: "tuned rate"}, {Name: "rate of no correction"}},
		Note:    fmt.Sprintf("Gain at %s: mean over the %d base models of the tuning stage. Gain at tuned rates: mean over the %d of the stage transfer. The three settings with the largest gain at %s under each stressor.", commonRate, t.TuningModels, t.Models, commonRate)}
	for i := range t.Tasks {
		task := &t.Tasks[i]
		common := gainsAt(t.tuning[task.Name], commonRate)
		for j, p := range task.Problems {
			for _, name := range largestGains(common, p.Name, 3) {
				s := task.setting(name)
				if s == nil || !s.tested(j) {
					continue
				}
				e := &s.Effects[j]
				table.Add(figure.Word(task.Name), figure.Word(p.Name), figure.Word(name), signed(stats.Average(common.by[name][p.Name])), signed(e.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", e.Low, e.High)), figure.Word(e.Rate), figure.Word(p.Rate))
			}
		}
	}
	return table
}

// scaleTable has the gains in longer runs and in a larger model next to those on the task.
func (t *Tuned) scaleTable() *figure.Figure {
	table := &figure.Figure{Kind: figure.Table, Title: "Gains at larger scales",
		Columns: []figure.Column{{Name: "scale"}, {Name: "stressor"}, number("no correction"), {Name: "setting"}, {Name: "rate"}, number("gain"), {Name: "95 % CI"}, number("gain on the task"), {Name: "95 % CI"}},
		Note:    "No correction: its mean pass rate of the whole run at the larger scale. Gain: mean over the base models, at the learning rates tuned on the task; the interval is Student's t over the base models."}
	for i := range t.Scales {
		scale := &t.Scales[i]
		at := slices.IndexFunc(t.Tasks, func(o TunedTask) bool { return o.Name == scale.TunedOn })
		if at < 0 {
			continue // the task itself is not whole
		}
		for j, p := range scale.Problems {
			for k := range scale.Settings {
				s := &scale.Settings[k]
				if !s.tested(j) {
					continue
				}
				e := &s.Effects[j]
				row := []figure.Cell{figure.Word(scale.Name), figure.Word(p.Name), rounded(p.Uncorrected), figure.Word(s.Name), figure.Word(e.Rate), signed(e.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", e.Low, e.High))}
				if own := t.Tasks[at].effect(s.Name, p.Name); own != nil {
					row = append(row, signed(own.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", own.Low, own.High)))
				}
				table.Add(row...)
			}
		}
	}
	return table
}

// effect is that of a setting under a stressor; nil if there is none.
func (t *TunedTask) effect(setting, stressor string) *TunedEffect {
	j := slices.IndexFunc(t.Problems, func(p TunedProblem) bool { return p.Name == stressor })
	if s := t.setting(setting); s != nil && j >= 0 {
		return &s.Effects[j]
	}
	return nil
}
