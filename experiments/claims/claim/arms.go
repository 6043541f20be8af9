package claim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/stats"
)

// Arm is a training run's name and what it changes in the headline's recipe.
type Arm struct {
	Name string
	Set  []string
	// Columns and Steps stand in place of those of the training; nil for no other.
	Columns []string
	Steps   []int
}

// Training is arms that are paired by seed, each trained at every learning rate.
type Training struct {
	// Steps are those of a run at the full, the quick and the tiny size.
	Steps []int
	Rates []string
	// Columns are kept of every run next to its pass rates.
	Columns []string
	// Sixths keeps means over sixths of a run of the columns that every update has.
	Sixths bool
	// Warm are warm starts that arms name as warm/NAME, as their checkpoint or teacher. Arms start from
	// the first one that is not shared, or without any from chain-base.
	Warm []warmStartArm
	// Set are changes of all arms, made before their own.
	Set  []string
	Arms []Arm
}

// warmStartArm is a recipe of pretrain with changes; a shared one has the first seed's weights in
// every replication.
type warmStartArm struct {
	Name, Recipe string
	Set          []string
	Shared       bool
	// Named is for the arms that name it alone: it is no other arm's start.
	Named bool
}

// folder is the checkpoint of a warm start; a preview trains it for a few steps.
func (w warmStartArm) folder(ctx context.Context, e *Env) (string, error) {
	own := *e
	if w.Shared {
		own.Seed = 1
	}
	set := w.Set
	if e.Size != Full {
		set = append(slices.Clone(set), fmt.Sprintf("pretrain.steps=%d", e.Pick(0, 300, 3)))
	}
	return own.Warm(ctx, w.Recipe, set...)
}

// Measure makes the runs; see TrainArms.
func (t *Training) Measure(ctx context.Context, e *Env, o *Observation) error {
	return e.TrainArms(ctx, o, *t)
}

// TrainArms makes the runs of a training and records them, arm by arm. A change that names
// $rate has the learning rate in it; without one the rate is the first change.
func (e *Env) TrainArms(ctx context.Context, o *Observation, t Training) error {
	var folders, start []string // pairs of a name and what stands for it; the arms' checkpoint
	for _, w := range t.Warm {
		dir, err := w.folder(ctx, e)
		if err != nil {
			return err
		}
		folders = append(folders, "warm/"+w.Name, dir)
		if !w.Shared && !w.Named && start == nil {
			start = []string{"checkpoint=" + dir}
		}
	}
	named := strings.NewReplacer(folders...)
	for _, a := range t.Arms {
		size, columns := t.Steps, t.Columns
		if a.Steps != nil {
			size = a.Steps
		}
		if a.Columns != nil {
			columns = a.Columns
		}
		steps := e.Pick(size[Full], size[Quick], size[Tiny])
		for _, rate := range t.Rates {
			name, run := AtLR(a.Name, rate), new(Observation)
			set := slices.Concat(t.Set, withRate(a.Set, rate))
			for i, text := range set {
				set[i] = named.Replace(text)
			}
			if err := e.PassRates(ctx, run, name, steps, columns, append(slices.Clone(start), set...)...); err != nil {
				return err
			}
			for _, f := range run.figures {
				if column, own := strings.CutPrefix(f.Name, ArmColumn(name, "")); own && t.Sixths && !strings.HasPrefix(column, "val/") {
					f.Values = Blocks(f.Values, max(steps/evaluations, 1))
				}
				o.Set(f.Name, f.Values...)
			}
		}
	}
	return nil
}

// withRate is an arm's changes at a learning rate.
func withRate(set []string, rate string) []string {
	own := SetLR("$rate")
	if i := slices.Index(set, own); i >= 0 {
		set = slices.Clone(set)
		set[i] = SetLR(rate)
		return set
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

// thirds are the means of a column's first and last third over an arm's runs.
func (j *Judge) thirds(rates []string, arm, column string, last bool) []float64 {
	return j.OverRates(rates, arm, func(o *Observation, name string) float64 {
		x := o.List(ArmColumn(name, column))
		n := max(len(x)/3, min(len(x), 1))
		if last {
			return stats.Average(x[len(x)-n:])
		}
		return stats.Average(x[:n])
	})
}

// Average is the mean of a column over an arm's runs.
func (j *Judge) Average(rates []string, arm, column string) []float64 {
	return j.OverRates(rates, arm, func(o *Observation, name string) float64 {
		return stats.Average(o.List(ArmColumn(name, column)))
	})
}

// sampledRate is the pass rate of the weights in the rollout engine.
const sampledRate = "val/rollout/pass_rate"

// lateSampled is to that column what Late is to the pass rates in the learner's
// engine; a run that ended early passes none.
func lateSampled(o *Observation, name string) float64 {
	rates := o.List(ArmColumn(name, sampledRate))
	early := len(rates) - len(o.List(name)) // the first update is evaluated too
	if early < 0 {
		return 0
	}
	return Late(rates[early:])
}
