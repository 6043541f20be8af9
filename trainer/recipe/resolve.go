package recipe

import (
	"driftlab/model"
	"driftlab/precision"
)

// Resolved returns the recipe with everything filled in that follows from
// other fields: the model's dimensions and vocabulary, the loss scale's mode.
// It is what a run writes next to its results. A model without a section is
// left to the checkpoint, if there is one: see ResolvedFor.
func (r Recipe) Resolved() Recipe {
	if r.Model == (model.Config{}) && r.Checkpoint == "" {
		r.Model = model.Default()
	}
	if r.Model != (model.Config{}) {
		r.Model = r.Model.WithDefaults()
		if r.Model.Vocab == 0 {
			r.Model.Vocab = len(r.Task.Params.Vocab())
		}
	}
	if r.Learner.LossScale.Mode == ScaleAuto {
		r.Learner.LossScale.Mode = ScaleNone
		if r.Learner.Numerics.Gradients == precision.FP16 {
			r.Learner.LossScale.Mode = ScaleDynamic
		}
	}
	return r
}

// ResolvedFor is Resolved for a recipe whose checkpoint has been read: the
// checkpoint's architecture stands in for a missing model section, and must
// otherwise equal it. The error is Faults, each with its field.
func (r Recipe) ResolvedFor(checkpoint model.Config) (Recipe, error) {
	checkpoint = checkpoint.WithDefaults()
	if r.Model == (model.Config{}) {
		r.Model = checkpoint
	}
	vocabGiven := r.Model.Vocab != 0
	r = r.Resolved()
	if !vocabGiven {
		// A checkpoint with a larger vocabulary can do a task with a smaller one.
		r.Model.Vocab = max(r.Model.Vocab, checkpoint.Vocab)
	}
	faults := differences(r.Model, checkpoint, r.Checkpoint)
	faults = append(faults, r.faults()...)
	return r, faults.orNil()
}

// Work is about what a run computes: multiply-adds, with a forward pass to sample and
// one to score each token, two to train it, and for every prompt that is evaluated a
// greedy response and its samples in two engines.
func (r Recipe) Work() float64 {
	tokens := float64(r.Steps * r.Rollout.Prompts * r.Rollout.Group * (2 + 2*r.Learner.Epochs))
	if every := r.Eval.Every; every > 0 {
		tokens += float64((2 + r.Steps/every) * r.Eval.Prompts * (1 + 2*r.Eval.PerPrompt()))
	}
	return tokens * float64(r.Rollout.MaxTokens) * float64(r.Model.WithDefaults().LayerProducts())
}
