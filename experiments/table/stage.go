package table

import "driftlab/experiments/sweep"

// The columns of the sweeps that the table reads. A stressor's label against names the
// stressor value whose runs, by the control, are its matched ones: the same way of
// learning without the stress.
const (
	methodColumn   = "method"
	groupColumn    = "group"
	stressorColumn = "stressor"
	letterColumn   = "letter"
	doseColumn     = "dose"
	rateColumn     = "rate"
	againstColumn  = "against"
)

// control is the method that every other one is compared with: none.
const control = "none"

// Stage is a sweep with what it has so far.
type Stage struct {
	// Name is the sweep's, such as screen.
	Name string
	// Index is what the sweep plans, Runs the outcomes of the cells that are there.
	Index *sweep.Index
	Runs  []sweep.Outcome
	// Missing says which runs are missing; empty if none is.
	Missing string
}

// cellKey is where a run belongs; task is empty where the sweep has one task.
type cellKey struct {
	task, method, stressor, rate string
	seed                         uint64
}

// placeOf is a point's place, without a seed.
func placeOf(values map[string]string) cellKey {
	return cellKey{task: values[taskColumn], method: values[methodColumn], stressor: values[stressorColumn], rate: values[rateColumn]}
}

// book finds runs by their place.
type book map[cellKey]*sweep.Outcome

func (s *Stage) book() book {
	b := book{}
	for i := range s.Runs {
		o := &s.Runs[i]
		key := placeOf(o.Values)
		key.seed = o.Seed
		b[key] = o
	}
	return b
}

// stepsOf are the steps of a run's evaluations after the start.
func stepsOf(o *sweep.Outcome) (steps []int) {
	for _, step := range o.Evals.Step {
		if step > 0 {
			steps = append(steps, step)
		}
	}
	return steps
}

// passRates are those of a run at the steps, zero where it had stopped.
func passRates(o *sweep.Outcome, steps []int) []float64 {
	at := map[int]float64{}
	for i, step := range o.Evals.Step {
		at[step] = float64(o.Evals.Value[i])
	}
	list := make([]float64, len(steps))
	for i, step := range steps {
		list[i] = at[step]
	}
	return list
}
