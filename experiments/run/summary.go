package run

import (
	"math"

	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// summarise condenses the steps of a run: the pass rate of the current weights
// in each engine and the training reward by first value (of the weights it
// starts from, where these were evaluated), mean, peak and end, as
// record.RunOutcome has them; the gap and the like by their means. Completion and truncation say what of the
// samples was trained whole: a filter by staleness and a limit of length both select by length.
func summarise(r recipe.Recipe, run *record.Record, status, reason string) record.Summary {
	s := record.Summary{Name: r.Name, Seed: r.Seed, Steps: run.Steps, Status: status, Reason: reason}
	for _, name := range []string{"val/learner/pass_rate", "val/rollout/pass_rate", "critic/score/mean"} {
		c := record.Judge(run, name)
		if math.IsNaN(float64(c.Final)) {
			continue
		}
		s.Metrics = append(s.Metrics,
			record.Metric{Name: name + "/first", Value: series(run, name)[0]},
			record.Metric{Name: name + "/mean", Value: float64(c.Mean)},
			record.Metric{Name: name + "/peak", Value: float64(c.Peak)},
			record.Metric{Name: name + "/final", Value: float64(c.Final)})
	}
	for _, name := range []string{"gap/k3", "gap/dlogp_mean", "routes/flip_token", "response_length/mean", truncated, "actor/entropy", "actor/grad_norm", "correction/masked_fraction"} {
		if values := series(run, name); len(values) > 0 {
			s.Metrics = append(s.Metrics, record.Metric{Name: name + "/mean", Value: stats.Average(values)})
		}
	}
	return completion(r, run, s)
}

const (
	// truncated is the share of a step's responses at the length limit; dropped counts the samples so far that an asynchronous
	// schedule has not trained, or has submitted again.
	truncated = "response_length/clip_ratio"
	dropped   = "clock/dropped_samples"
	// completionRate is the share of all finished samples that were trained and were not truncated.
	completionRate = "completion_rate"
)

// completion appends completionRate, and for asynchronous schedules how long the trained responses are by the sampled ones.
func completion(r recipe.Recipe, run *record.Record, s record.Summary) record.Summary {
	cut := series(run, truncated)
	if len(cut) == 0 {
		return s
	}
	rate := 1 - stats.Average(cut)
	if lost, ok := run.Column(dropped).Last(); ok {
		trained := float64(len(cut) * r.Rollout.Prompts * r.Rollout.Group)
		rate *= trained / (trained + lost)
	}
	s.Metrics = append(s.Metrics, record.Metric{Name: completionRate, Value: rate})
	if ratio, ok := run.Column("clock/trained_length_ratio").Last(); ok {
		s.Metrics = append(s.Metrics, record.Metric{Name: "clock/trained_length_ratio", Value: ratio})
	}
	return s
}

// series returns one figure over the steps that have it.
func series(run *record.Record, name string) []float64 {
	if c := run.Column(name); c != nil {
		return c.Value
	}
	return nil
}
