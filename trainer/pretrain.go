package trainer

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// PretrainResult is a finished warm start.
type PretrainResult struct {
	// Params are the trained weights.
	Params *model.Params
	// Loss is the mean loss of the last tenth of the steps, in nats per token.
	Loss float64
	// Sampled and Greedy are the pass rates on held-out prompts, at temperature
	// 1 and 0, in the learner's numerics.
	Sampled, Greedy PassRate
}

// pretrainPrompts is how many held-out prompts judge a base checkpoint at
// least: a standard error of 0.02 at a pass rate of one half.
const pretrainPrompts = 512

// Pretrain makes a base checkpoint and judges it by its pass rates. The result
// depends on the recipe alone.
func Pretrain(ctx context.Context, r recipe.Recipe, o Options) (*PretrainResult, error) {
	result, err := WarmStart(ctx, r, o)
	if err != nil {
		return nil, err
	}
	r.Model = result.Params.Config
	e := newEvaluator(r, r.Task.New(), r.Learner.Numerics, o.workers())
	defer e.close()
	prompts := max(r.Eval.Prompts, pretrainPrompts)
	result.Sampled = e.passRate(result.Params, prompts, 1, 1, r.Seed).PassRate
	result.Greedy = e.passRate(result.Params, prompts, 1, 0, r.Seed).PassRate
	return result, nil
}

// WarmStart is Pretrain without the pass rates: supervised training on the
// task's noisy demonstrations, from random weights, or of a checkpoint on what it or a
// teacher answers right.
func WarmStart(ctx context.Context, r recipe.Recipe, o Options) (*PretrainResult, error) {
	t := r.Task.New()
	next := func(dst []int32, rng *rand.Rand) (task.Prompt, []int32) { // noisy worked responses to fresh prompts
		p := task.Draw(t, rng)
		return p, t.Demonstration(dst, p, rng)
	}
	var p *model.Params
	if err := r.Model.Fits(5*4, "the weights, a gradient, two moments of AdamW and a copy in the learner"); err != nil {
		return nil, recipe.Faults{{Problem: err.Error()}}
	}
	if r.Pretrain.Rejection == nil {
		p = model.New(r.Model)
		p.Init(r.Seed)
		if o.Start != nil {
			o.Start(p)
		}
	} else {
		first, weights, err := Prepare(r)
		if err != nil {
			return nil, err
		}
		sampler := weights
		if from := r.Pretrain.Rejection.From; from != "" {
			if sampler, err = openBeside(first, "pretrain.rejection.from", from); err != nil {
				return nil, err
			}
		}
		right, err := reject(ctx, first, sampler, t, o)
		if err != nil {
			return nil, err
		}
		p, next = weights, func(dst []int32, rng *rand.Rand) (task.Prompt, []int32) {
			one := right[rng.IntN(len(right))]
			return one.prompt, append(dst, one.response...)
		}
	}
	settings := engines.LearnerSettings(r.Learner, r.Pretrain.Optimizer)
	settings.Balance = r.Pretrain.Balance
	l := learner.New(p, settings, o.workers())
	defer l.Close()
	var b batch.Batch
	objective := &loss.Objective{Loss: likelihood{}, Batch: &b}
	result := &PretrainResult{Params: p}
	tail, count := r.Pretrain.Steps-max(r.Pretrain.Steps/10, 1), 0
	for step := range r.Pretrain.Steps {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		demonstrations(&b, t, r.Pretrain.Batch, next, stream.New(r.Seed, stream.Demonstrations, step))
		report, err := l.Gradient(&b.Now, &b.Sampled, objective, learner.StepOptions{Policy: learner.Policy{Temperature: 1}})
		if err == nil && !report.Skipped {
			l.Update(r.Pretrain.Optimizer.Rate(step, r.Pretrain.Steps))
			err = l.CheckWeights()
		}
		if err != nil {
			return nil, &StepError{Step: step + 1, Err: err}
		}
		if step >= tail {
			result.Loss += report.Loss
			count++
		}
		o.progress(Progress{Step: step + 1, Steps: r.Pretrain.Steps, Loss: report.Loss})
	}
	result.Loss /= float64(max(count, 1))
	return result, nil
}

// demonstrations fills a batch with n responses; what a tool wrote in them is read and not learned.
func demonstrations(b *batch.Batch, t task.Task, n int, next func(dst []int32, rng *rand.Rand) (task.Prompt, []int32), rng *rand.Rand) {
	b.Offsets = append(b.Offsets[:0], 0)
	b.Prompt, b.Token, b.Mask = b.Prompt[:0], b.Token[:0], b.Mask[:0]
	for range n {
		var p task.Prompt
		from := len(b.Token)
		p, b.Token = next(b.Token, rng)
		b.Prompt = append(b.Prompt, p.Tokens)
		b.Mask = task.Generated(b.Mask, t, p.Tokens, b.Token[from:])
		b.Offsets = append(b.Offsets, len(b.Token))
	}
}

// answer is a right response of a model, with its prompt: data for fine-tuning by rejection sampling.
type answer struct {
	prompt   task.Prompt
	response []int32
}

// reject samples a checkpoint on the training prompts of its task and keeps what is
// right, in the task's template.
func reject(ctx context.Context, r recipe.Recipe, p *model.Params, t task.Task, o Options) (right []answer, err error) {
	want := *r.Pretrain.Rejection
	engine := rollout.New(p.Config, r.Learner.Numerics, evaluationSlots, o.workers())
	defer engine.Close()
	engine.Publish(p, 0)
	rng := stream.New(r.Seed, stream.Rejection, 0)
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
			response := b.Token[from:to]
			if !t.Verify(q, response).Correct {
				continue
			}
			own := slices.Clone(response)
			if f, ok := t.(task.Templater); ok {
				own = f.Template(nil, response)
			}
			right = append(right, answer{q, own})
		}
	}
	if len(right) == 0 {
		return nil, fmt.Errorf("pretrain.rejection: %s solves none of %d prompts in %d attempts each: ask for more of either, or take another checkpoint", cmp.Or(want.From, r.Checkpoint), want.Prompts, want.Samples)
	}
	return right, nil
}
