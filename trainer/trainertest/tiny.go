// Package trainertest has a run of milliseconds, for tests of the trainer and its runner.
//
// What it is not: it teaches a model nothing, and no program imports it.
package trainertest

import (
	"sync"
	"testing"

	"driftlab/trainer/recipe"
)

// text has one layer, random weights, and a reward by length, which varies where
// answers are never right.
const text = `
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

// tiny is the recipe without changes, parsed once.
var tiny = sync.OnceValues(func() (recipe.Recipe, error) { return recipe.Parse("tiny.yaml", []byte(text)) })

// Recipe is the recipe of the run with changes in the form of --set.
func Recipe(t testing.TB, sets ...string) recipe.Recipe {
	t.Helper()
	r, err := tiny()
	if err == nil && len(sets) > 0 {
		err = r.Set(sets...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}
