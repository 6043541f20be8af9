package measure

import (
	"context"
	"path/filepath"
	"testing"

	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/recipe"
	"driftlab/trainer/runner"
	"driftlab/trainer/stream"
	"driftlab/trainer/tiny"
)

// otherModel saves random weights of the tiny shape and returns their folder.
func otherModel(t *testing.T) string {
	t.Helper()
	p := model.New(tiny.Recipe(t).Resolved().Model)
	p.Init(99)
	dir := filepath.Join(t.TempDir(), "other")
	if err := model.Save(dir, p, model.Extras{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run makes a run that has to finish.
func run(t testing.TB, r recipe.Recipe) *runner.Result {
	t.Helper()
	result, err := runner.Run(context.Background(), r, runner.Options{})
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
