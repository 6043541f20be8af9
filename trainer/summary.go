package trainer

import (
	"driftlab/results"
	"driftlab/trainer/recipe"
)

// finalWindow is the number of evaluations, or steps for training rewards,
// whose mean stands for the best and for the last of a run.
const finalWindow = 3

// summarise condenses the steps of a run: for the pass rate of the current
// weights in each engine and for the training reward, its mean over the run,
// the best and the last mean of a few, and the means of the gap.
func summarise(r recipe.Recipe, record *results.Record, status, reason string) results.Summary {
	s := results.Summary{Name: r.Name, Seed: r.Seed, Steps: record.Steps, Status: status, Reason: reason}
	for _, name := range []string{"val/learner/pass_rate", "val/rollout/pass_rate", "critic/score/mean"} {
		values := series(record, name)
		if len(values) == 0 {
			continue
		}
		windows := windowMeans(values, finalWindow)
		best := windows[0]
		for _, w := range windows {
			best = max(best, w)
		}
		s.Metrics = append(s.Metrics,
			results.Metric{Name: name + "/first", Value: values[0]},
			results.Metric{Name: name + "/mean", Value: mean(values)},
			results.Metric{Name: name + "/peak", Value: best},
			results.Metric{Name: name + "/final", Value: windows[len(windows)-1]})
	}
	for _, name := range []string{"gap/k3", "gap/dlogp_mean", "routes/flip_token", "response_length/mean", "actor/entropy", "actor/grad_norm", "correction/masked_fraction"} {
		if values := series(record, name); len(values) > 0 {
			s.Metrics = append(s.Metrics, results.Metric{Name: name + "/mean", Value: mean(values)})
		}
	}
	return s
}

// series returns one figure over the steps that have it.
func series(record *results.Record, name string) []float64 {
	if c := record.Column(name); c != nil {
		return c.Value
	}
	return nil
}

// windowMeans returns the means of every run of width consecutive values, or
// of all of them if there are fewer.
func windowMeans(values []float64, width int) []float64 {
	width = min(width, len(values))
	var means []float64
	for i := range len(values) - width + 1 {
		means = append(means, mean(values[i:i+width]))
	}
	return means
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
