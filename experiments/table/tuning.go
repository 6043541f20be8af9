package table

import (
	"slices"

	"driftlab/experiments/sweep"
	"driftlab/results/stats"
)

// The columns of the sweeps with several tasks: the task, and the task whose tuned rates it has.
const (
	taskColumn  = "task"
	tunedColumn = "tuned"
)

// tolerance is how far below its best mean pass rate a setting may be at a learning rate of
// its range.
const tolerance = 0.05

// Tuning is how a setting does at each learning rate under a stressor of a task.
type Tuning struct {
	Task, Stressor, Method string
	// Rates ascend; Means are those of the pass rate of the whole run over the base models,
	// which ByModel has one by one.
	Rates   []string
	Means   []float64
	ByModel [][]float64
	// Best is the place of the highest mean, of equal ones the smallest rate. Low and High are
	// the ends of its range: the rates around it whose mean is within 0.05 of it, without a gap.
	Best, Low, High int

	idle bool // no bit differs from no correction, or from an earlier setting under every stressor
}

// Rate is the tuned learning rate.
func (t *Tuning) Rate() string { return t.Rates[t.Best] }

// AtEdge reports whether the tuned rate is the lowest or the highest one.
func (t *Tuning) AtEdge() bool { return t.Best == 0 || t.Best == len(t.Rates)-1 }

// choose fills Best, Low and High.
func (t *Tuning) choose() {
	for i, v := range t.Means {
		if v > t.Means[t.Best] {
			t.Best = i
		}
	}
	within := func(i int) bool { return i >= 0 && i < len(t.Means) && t.Means[i] >= t.Means[t.Best]-tolerance }
	for t.Low = t.Best; within(t.Low - 1); t.Low-- {
	}
	for t.High = t.Best; within(t.High + 1); t.High++ {
	}
}

// Tunings are those of a tuning stage, in the order of its plan: each with all of its runs.
func (s *Stage) Tunings() []Tuning {
	book, steps := s.book(), s.evaluated()
	var list []Tuning
	at := map[cellKey]int{}
	missing := map[cellKey]bool{}
	for _, p := range s.Index.Points {
		place := placeOf(p.Values)
		rate := place.rate
		place.rate = ""
		i, ok := at[place]
		if !ok {
			i = len(list)
			at[place] = i
			list = append(list, Tuning{Task: place.task, Stressor: place.stressor, Method: place.method})
		}
		t := &list[i]
		t.Rates = append(t.Rates, rate)
		var byModel []float64
		for _, seed := range s.Index.Seeds {
			run := placeOf(p.Values)
			run.seed = seed
			o := book[run]
			if o == nil {
				missing[place] = true
				continue
			}
			byModel = append(byModel, stats.Average(passRates(o, steps)))
		}
		t.ByModel = append(t.ByModel, byModel)
		t.Means = append(t.Means, stats.Average(byModel))
	}
	list = slices.DeleteFunc(list, func(t Tuning) bool { return missing[cellKey{task: t.Task, stressor: t.Stressor, method: t.Method}] })
	for i := range list {
		list[i].choose()
	}
	return list
}

// evaluated are the steps at which the stage's runs are evaluated, after the start: those of a
// run that did not stop.
func (s *Stage) evaluated() (steps []int) {
	longest := &sweep.Outcome{}
	for i := range s.Runs {
		if o := &s.Runs[i]; len(o.Evals.Step) > len(longest.Evals.Step) {
			longest = o
		}
	}
	return stepsOf(longest)
}

// tunedTasks are the tasks with every tuning that the stage plans for the control, in the order of
// the plan, and for each the settings that are tuned under every stressor that the stage has them under.
func (s *Stage) tunedTasks(list []Tuning) (tasks []string, settings map[string][]string) {
	planned := map[[2]string]map[string]bool{} // stressors by task and method
	var order [][2]string
	for _, p := range s.Index.Points {
		key := [2]string{p.Values[taskColumn], p.Values[methodColumn]}
		if planned[key] == nil {
			planned[key] = map[string]bool{}
			order = append(order, key)
		}
		planned[key][p.Values[stressorColumn]] = true
	}
	for _, t := range list {
		delete(planned[[2]string{t.Task, t.Method}], t.Stressor)
	}
	settings = map[string][]string{}
	for _, key := range order {
		if len(planned[key]) > 0 {
			continue
		}
		if key[1] == control {
			tasks = append(tasks, key[0])
		}
		settings[key[0]] = append(settings[key[0]], key[1])
	}
	return tasks, settings
}

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
