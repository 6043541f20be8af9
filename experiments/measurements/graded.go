package measurements

import (
	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Graded samples responses to chain prompts in groups of eight, scores them in
// the learner's engine, and gives them group-relative advantages: a batch as a
// training step sees it.
func graded(e *claim.Env, p *model.Params, rollout, scorer engine.Numerics, groups int) *batch.Batch {
	const size = 8
	questions := chainPrompts(e.Rand(promptStream), groups)
	var prompts [][]int32
	for _, q := range questions {
		for range size {
			prompts = append(prompts, q.Tokens)
		}
	}
	b := sample(e, probe{Params: p, Rollout: rollout, Sequences: len(prompts), Tokens: 48, Stops: true, Prompts: prompts, Distributions: true})
	measure.Score(b, p, measure.Scoring{Numerics: scorer, Distributions: true})
	b.Anchor = b.Old.Logp
	t := task.NewChain()
	b.Advantage = make([]float64, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		v := t.Verify(questions[i/size], b.Token[from:to])
		reward := 0.0
		if v.Correct {
			reward = 1
		}
		b.Group[i] = i / size
		b.Correct, b.Reward = append(b.Correct, v.Correct), append(b.Reward, reward)
	}
	for g := range groups {
		mean := stats.Average(b.Reward[g*size : (g+1)*size])
		for i := g * size; i < (g+1)*size; i++ {
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				b.Advantage[n] = b.Reward[i] - mean
			}
		}
	}
	return b
}

func minibatches(b *batch.Batch, n int) []*batch.Batch {
	out := make([]*batch.Batch, n)
	for k := range out {
		var rows []int
		for i := k; i < b.Len(); i += n {
			rows = append(rows, i)
		}
		out[k] = new(batch.Batch)
		b.Select(out[k], rows)
	}
	return out
}
