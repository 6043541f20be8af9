package measure

import (
	"context"
	"testing"

	"driftlab/engine/rollout"
	runner "driftlab/experiments/run"
	"driftlab/precision/must"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// run makes a run that has to finish.
func run(t testing.TB, r recipe.Recipe) *runner.Result {
	t.Helper()
	result := must.Get(runner.Run(context.Background(), r, runner.Options{}))(t)
	return result
}

// asked are the requests of a run's step.
func asked(r recipe.Recipe, step int) []rollout.Request {
	var requests []rollout.Request
	t, rng := r.Task.New(), stream.New(r.Seed, stream.Prompts, step)
	for g := range r.Rollout.Prompts {
		p := task.Draw(t, rng)
		for i := range r.Rollout.Group {
			requests = append(requests, rollout.Request{Prompt: p.Tokens, Group: g, PromptID: p.ID, Tool: engines.Tool(t),
				Seed: r.Seed + uint64(step)<<32, Stream: stream.ID(stream.Sampling, g*r.Rollout.Group+i)})
		}
	}
	return requests
}
