package recipe

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
