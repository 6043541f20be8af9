package claim

import (
	"context"
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
	Arms   []Arm
}

// TrainArms makes the runs of a training and records them, arm by arm. A change that names
// $rate has the learning rate in it; without one the rate is the first change.
func (e *Env) TrainArms(ctx context.Context, o *Observation, t Training) error {
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
			if err := e.PassRates(ctx, run, name, steps, columns, withRate(a.Set, rate)...); err != nil {
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
