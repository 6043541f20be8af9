package trainer

import (
	"context"
	"fmt"
	"math/rand/v2"

	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// answers are right responses of a model, with their prompts: what it is fine-tuned on
// by rejection sampling.
type answers struct {
	task      task.Task
	prompts   []task.Prompt
	responses [][]int32
}

// reject samples a checkpoint on the training prompts of its task and keeps what is
// right, in the task's template.
func reject(ctx context.Context, r recipe.Recipe, p *model.Params, t task.Task, o Options) (*answers, error) {
	want := *r.Pretrain.Rejection
	engine := rollout.New(r.Model, r.Learner.Numerics, evaluationSlots, o.workers())
	defer engine.Close()
	engine.Publish(p, 0)
	rng := stream.New(r.Seed, stream.Rejection, 0)
	a := &answers{task: t}
	var b batch.Batch
	var requests []rollout.Request
	var prompts []task.Prompt
	sampling := rollout.Sampling{Temperature: 1, TopP: 1, MaxTokens: r.Rollout.MaxTokens, Stop: task.EOS}
	for first := 0; first < want.Prompts; first += evaluationSlots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		requests, prompts = requests[:0], prompts[:0]
		for i := first; i < min(first+evaluationSlots, want.Prompts); i++ {
			q := task.Draw(t, rng)
			for k := range want.Samples {
				prompts = append(prompts, q)
				requests = append(requests, rollout.Request{Prompt: q.Tokens, Seed: r.Seed, Stream: stream.ID(stream.Rejection, 1+i*want.Samples+k), Tool: engines.Tool(t)})
			}
		}
		engine.Generate(&b.Sampled, requests, sampling)
		for k, q := range prompts {
			from, to := b.Span(k)
			if response := b.Token[from:to]; t.Verify(q, response).Correct {
				a.add(q, response)
			}
		}
	}
	if len(a.responses) == 0 {
		return nil, fmt.Errorf("pretrain.rejection: %s solves none of %d prompts in %d attempts each: ask for more of either, or take another checkpoint", r.Checkpoint, want.Prompts, want.Samples)
	}
	return a, nil
}

// add keeps a response.
func (a *answers) add(p task.Prompt, response []int32) {
	own := append([]int32{}, response...)
	if f, ok := a.task.(task.Templater); ok {
		own = f.Template(nil, response)
	}
	a.prompts, a.responses = append(a.prompts, p), append(a.responses, own)
}

// draw fills a batch with n of them, as demonstrate does.
func (a *answers) draw(b *batch.Batch, n int, rng *rand.Rand) {
	demonstrations(b, a.task, n, func(dst []int32) (task.Prompt, []int32) {
		i := rng.IntN(len(a.responses))
		return a.prompts[i], append(dst, a.responses[i]...)
	})
}
