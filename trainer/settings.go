package trainer

import (
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/precision"
	"driftlab/trainer/recipe"
	"driftlab/trainer/task"
)

// learnerSettings translates a recipe's sections for the learner.
func learnerSettings(l recipe.Learner, o recipe.Optimizer) learner.Settings {
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

// sampling translates a recipe's rollout section.
func sampling(r recipe.Rollout) rollout.Sampling {
	return rollout.Sampling{
		Temperature: r.Temperature, TopK: r.TopK, TopP: r.TopP, MaxTokens: r.MaxTokens,
		Stop: task.EOS, LogProbs: rollout.LogProbs(r.LogProbs), Distributions: true,
	}
}
