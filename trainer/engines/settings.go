package engines

import (
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/precision"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// LearnerSettings translates a recipe's sections for the learner.
func LearnerSettings(l recipe.Learner, o recipe.Optimizer) learner.Settings {
	s := learner.Settings{
		Numerics: l.Numerics,
		AdamW:    learner.AdamW{Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay, ClipNorm: o.ClipNorm},
	}
	scaled := l.LossScale.Mode == recipe.ScaleDynamic ||
		l.LossScale.Mode == recipe.ScaleAuto && l.Numerics.Gradients == precision.FP16
	if scaled {
		s.LossScale = learner.LossScale{Initial: l.LossScale.Initial, Growth: l.LossScale.GrowthInterval}
	}
	return s
}

// Tool is the environment of a task's responses, nil for a task without one.
func Tool(t task.Task) rollout.Tool {
	if tool, ok := t.(task.Tool); ok {
		return tool
	}
	return nil
}

// Policy is the learner's policy of a recipe: its temperature, and what of the
// rollout it replays.
func Policy(r recipe.Recipe) learner.Policy {
	return learner.Policy{Temperature: r.LearnerTemperature(), Replay: replayOf(r.Routing), Gates: learner.Gates(r.Routing.Gates),
		Support: r.Support.Replay, Retention: r.ReplaysRetention()}
}

// replayOf translates whose routes the policy follows. Keep Routing is R3 but
// for the reference, which is another model.
func replayOf(r recipe.Routing) learner.Replay {
	if r.FromRollout() {
		return learner.ReplayRollout
	}
	return learner.Replay(r.Replay)
}

// Retention translates how much of the KV cache the rollout engine keeps.
func Retention(r recipe.Rollout) rollout.Retention {
	k := r.KVRetention
	if k == nil {
		return rollout.Retention{}
	}
	return rollout.Retention{Policy: rollout.Policy(k.Policy), Keep: k.Keep, Budget: k.Budget, Sinks: k.Sinks, Recent: k.Recent}
}

// SharedPrefixes translates what the rollout engine keeps of prompts.
func SharedPrefixes(r recipe.Rollout) rollout.SharedPrefixCache {
	k := r.SharedPrefixCache
	if k == nil {
		return rollout.SharedPrefixCache{}
	}
	return rollout.SharedPrefixCache{Policy: rollout.PrefixPolicy(k.Policy), Blocks: k.Blocks, BlockTokens: k.BlockTokens}
}

// Sampling translates a recipe's rollout section. Distributions of the two
// engines are over the same tokens: the support's if it is replayed.
func Sampling(r recipe.Recipe) rollout.Sampling {
	o := r.Rollout
	return rollout.Sampling{
		Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, MaxTokens: o.MaxTokens,
		Stop: task.EOS, LogProbs: rollout.LogProbs(o.LogProbs), Distributions: true, OnSupport: r.Support.Replay,
		ActualVersions: r.Rollout.WeightSync != nil,
		Gates:          r.Routing.Gates == recipe.GatesRecorded && r.Routing.FromRollout(),
	}
}
