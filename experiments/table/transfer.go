package table

import (
	"slices"

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
