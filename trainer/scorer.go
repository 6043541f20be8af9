package trainer

import (
	"driftlab/model"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/recipe"
)

// Scorer gives the responses of a step, counted from 0, the log-probs of another engine that
// has the same weights: it overwrites b.LogpRoll, which holds those of the rollout engine, for
// the tokens of b.Mask. The responses stay those that the rollout engine sampled.
type Scorer func(step int, weights *model.Params, b *batch.Sampled) error

// checkScorer returns recipe.Faults that name what a recipe has and a scorer cannot follow:
// it sees the current weights and the tokens, at temperature 1.
func checkScorer(r recipe.Recipe) error {
	o := &r.Rollout
	_, sync := r.Schedule.Params.(*schedule.Sync)
	var faults recipe.Faults
	for _, x := range []struct {
		path    string
		present bool
	}{
		{"schedule", !sync || r.OnClock()},
		{"loss", r.Loss.Name == "mipu"},
		{"rollout.temperature", o.Temperature != 1},
		{"rollout.top_p", o.TopP != 1},
		{"rollout.top_k", o.TopK != 0},
		{"rollout.log_probs", o.LogProbs != recipe.ProcessedLogProbs},
		{"rollout.weight_sync", o.WeightSync != nil},
		{"rollout.kv_retention", o.KVRetention != nil},
		{"rollout.noise", o.Noise.Start > 0},
		{"rollout.fleet", len(o.Fleet) > 0},
		{"rollout.speculative", o.Speculative != nil},
		{"rollout.fusion", o.Fusion != nil},
	} {
		if x.present {
			faults = append(faults, recipe.Fault{Path: x.path, Problem: "a scorer of responses cannot follow this: leave it at its default"})
		}
	}
	if r.Needs(batch.DistRoll) {
		faults = append(faults, recipe.Fault{Path: "loss", Problem: "a method of this recipe reads whole distributions, and a scorer gives the log-probs of the sampled tokens only"})
	}
	if faults != nil {
		return faults
	}
	return nil
}
