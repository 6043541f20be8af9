package measure

import (
	"context"
	"path/filepath"
	"testing"

	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/recipe"
	"driftlab/trainer/stream"
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

// otherModel saves random weights of the tiny shape and returns their folder.
func otherModel(t *testing.T) string {
	t.Helper()
	p := model.New(tinyRecipe(t).Resolved().Model)
	p.Init(99)
	dir := filepath.Join(t.TempDir(), "other")
	if err := model.Save(dir, p, model.Extras{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run makes a run that has to finish.
func run(t testing.TB, r recipe.Recipe) *trainer.Result {
	t.Helper()
	result, err := trainer.Run(context.Background(), r, trainer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// asked are the requests of a run's step.
func asked(r recipe.Recipe, step int) []rollout.Request {
	var requests []rollout.Request
	t, rng := r.Task.New(), stream.New(r.Seed, stream.Prompts, step)
	for g := range r.Rollout.Prompts {
		p := t.Prompt(rng)
		for i := range r.Rollout.Group {
			requests = append(requests, rollout.Request{Prompt: p.Tokens, Group: g, PromptID: p.ID, Tool: engines.Tool(t),
				Seed: r.Seed + uint64(step)<<32, Stream: stream.ID(stream.Sampling, g*r.Rollout.Group+i)})
		}
	}
	return requests
}
