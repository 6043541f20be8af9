package claim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"driftlab/results/stats"
)

// Arm is a training run's name and what it changes in the headline's recipe.
type Arm struct {
	Name string
	Set  []string
	// Columns, Steps and Rates stand in place of those of the training; nil for no other.
	Columns []string
	Steps   []int
	Rates   []string
	// Untrained asks the weights of the arm's checkpoint as they are.
	Untrained bool
}

// Training is arms that are paired by seed, each trained at every learning rate.
type Training struct {
	// Steps are the numbers of steps of a run at the full, the quick and the tiny size.
	Steps []int
	// Rates may be empty: runs then have the rate of their recipe.
	Rates []string
	// Columns are kept of every run next to its pass rates.
	Columns []string
	// Sixths keeps means over sixths of a run of the columns that every update has.
	Sixths bool
	// Warm are warm starts that arms, and later warm starts, name as warm/NAME, as their checkpoint or teacher. Arms
	// start from the first one that is neither shared nor named alone, or without any from chain-base.
	Warm []warmStartArm
	// Set are changes of all arms, made before their own. In these, and in those of warm starts, $size(a | b | c) is a
	// at the full, b at the quick and c at the tiny size.
	Set  []string
	Arms []Arm
	// Record are figures in the place of pass rates, see record.go; Ask is what the trained weights are asked for them.
	Record []recorded
	Ask    []asked
}

// warmStartArm is a recipe of pretrain with changes; a shared one has the first seed's weights in
// every replication.
type warmStartArm struct {
	Name, Recipe string
	Set          []string
	// Steps are the numbers of steps at the full, the quick and the tiny size; nil for the recipe's own, and few in a preview.
	Steps  []int
	Shared bool
	// Named is for the arms that name it alone: it is no other arm's start.
	Named bool
	// Shipped takes the shipped weights of the recipe's name in a preview.
	Shipped bool
}

// folder is the checkpoint of a warm start with these changes.
func (w warmStartArm) folder(e *Env, set []string) string {
	own := *e
	if w.Shared {
		own.Seed = 1
	}
	switch {
	case w.Shipped && e.Size != Full:
		return w.Recipe
	case w.Steps != nil:
		set = append(set, fmt.Sprintf("pretrain.steps=%d", w.Steps[e.Size]))
	case e.Size != Full:
		set = append(set, fmt.Sprintf("pretrain.steps=%d", e.Pick(0, 300, 3)))
	}
	return own.Warm(w.Recipe, set...)
}

// ArmRun is a run of an arm at one learning rate.
type ArmRun struct {
	Arm     *Arm
	Rate    string // empty for that of the recipe
	Steps   int
	Columns []string
	Set     []string
}

// bySize is a choice by size in a change.
var bySize = regexp.MustCompile(`\$size\(([^|)]*) \| ([^|)]*) \| ([^|)]*)\)`)

// of is a text with the choices of a size.
func (s Size) of(text string) string { return bySize.ReplaceAllString(text, fmt.Sprintf("${%d}", s+1)) }

// ratesOf are the learning rates of an arm: a run without any has the rate of its recipe.
func (t *Training) ratesOf(a *Arm) []string {
	switch {
	case a.Untrained || len(t.Rates) == 0 && a.Rates == nil:
		return []string{""}
	case a.Rates != nil:
		return a.Rates
	}
	return t.Rates
}

// columnsOf are those that are kept of an arm's runs.
func (t *Training) columnsOf(a *Arm) []string {
	if a.Columns != nil {
		return a.Columns
	}
	return t.Columns
}

// Runs makes the warm starts and calls do with each run of the arms, in their order.
func (t *Training) Runs(e *Env, do func(r ArmRun)) {
	var folders, start []string // pairs of a name and what stands for it; the arms' checkpoint
	changes := func(set []string) []string {
		named := strings.NewReplacer(folders...)
		return stats.Map(set, func(text string) string { return named.Replace(e.Size.of(text)) })
	}
	for _, w := range t.Warm {
		dir := w.folder(e, changes(w.Set))
		folders = append(folders, "warm/"+w.Name, dir)
		if !w.Shared && !w.Named && start == nil {
			start = []string{"checkpoint=" + dir}
		}
	}
	for i := range t.Arms {
		a := &t.Arms[i]
		r := ArmRun{Arm: a, Columns: t.columnsOf(a)}
		size := t.Steps
		if a.Steps != nil {
			size = a.Steps
		}
		r.Steps = size[e.Size]
		for _, r.Rate = range t.ratesOf(a) {
			r.Set = slices.Concat(start, changes(slices.Concat(t.Set, withRate(a.Set, r.Rate))))
			do(r)
		}
	}
}

// Measure makes the runs and records them, arm by arm. A change that names
// $rate has the learning rate in it; without one the rate is the first change.
func (t *Training) Measure(e *Env, o *Observation) {
	if t.Record != nil {
		t.record(e, o)
		return
	}
	t.Runs(e, func(r ArmRun) {
		name, run := AtLR(r.Arm.Name, r.Rate), new(Observation)
		e.PassRates(run, name, r.Steps, r.Columns, r.Set...)
		for _, f := range run.figures {
			if column, own := strings.CutPrefix(f.Name, ArmColumn(name, "")); own && t.Sixths && !strings.HasPrefix(column, "val/") {
				f.Values = Blocks(f.Values, max(r.Steps/evaluations, 1))
			}
			o.Set(f.Name, f.Values...)
		}
	})
}

// withRate is an arm's changes at a learning rate.
func withRate(set []string, rate string) []string {
	if rate == "" {
		return set
	}
	if i := slices.Index(set, SetLR("$rate")); i >= 0 {
		return slices.Concat(set[:i], []string{SetLR(rate)}, set[i+1:])
	}
	return append([]string{SetLR(rate)}, set...)
}

// Blocks are the means of n values each; what is left over is dropped.
func Blocks(x []float64, n int) []float64 {
	var out []float64
	for ; len(x) >= n; x = x[n:] {
		out = append(out, stats.Average(x[:n]))
	}
	return out
}

// Average is the mean of a column over an arm's runs.
func (j *Judge) Average(rates []string, arm, column string) []float64 {
	return j.OverRates(rates, arm, func(o *Observation, name string) float64 {
		return stats.Average(o.List(ArmColumn(name, column)))
	})
}
