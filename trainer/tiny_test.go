package trainer

import (
	"context"
	"testing"

	"driftlab/trainer/recipe"
)

// tiny is a run of milliseconds: one layer, random weights, and a reward by
// length, which varies where answers are never right.
const tiny = `
name: tiny
seed: 7
steps: 6
model: {layers: 1, d_model: 16, heads: 2, experts: 4, top_k: 2, d_ff: 16, context: 64}
task: {name: chain, difficulty: [1, 3]}
rollout: {numerics: fp32, max_tokens: 12, prompts: 4, group: 4}
learner: {numerics: fp32, optimizer: {lr: 1e-2, warmup: 0}}
reward: [exact, {name: length_uniform, coef: 0.1}]
eval: {every: 2, prompts: 8}
`

// tinyRecipe is tiny with changes in the form of --set.
func tinyRecipe(t testing.TB, sets ...string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Parse("tiny.yaml", []byte(tiny))
	if err == nil {
		err = r.Set(sets...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mustRun makes a run that has to finish.
func mustRun(t testing.TB, r recipe.Recipe, o Options) *Result {
	t.Helper()
	result, err := Run(context.Background(), r, o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// small is the default recipe, on few prompts.
func small(t testing.TB) recipe.Recipe {
	t.Helper()
	r, err := recipe.Load("default", "rollout.prompts=6", "rollout.group=4", "rollout.max_tokens=24")
	if err != nil {
		t.Fatal(err)
	}
	return r
}
