package measurements

import (
	"slices"

	"driftlab/engine"
	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// answered samples responses to chain prompts, equally many to each, and judges each up to its first stop.
func answered(e *claim.Env, groups int, q probe) *batch.Batch {
	questions := chainPrompts(e.Rand(promptStream), groups)
	each := q.Sequences / groups
	for _, question := range questions {
		q.Prompts = append(q.Prompts, slices.Repeat([][]int32{question.Tokens}, each)...)
	}
	b := sample(e, q)
	t := task.NewChain()
	b.Advantage, b.Correct, b.Reward = make([]float64, b.Tokens()), make([]bool, b.Len()), make([]float64, b.Len())
	for i := range b.Len() {
		from, to := b.Span(i)
		if stop := slices.Index(b.Token[from:to], task.EOS); stop >= 0 {
			to = from + stop + 1
		}
		b.Group[i], b.Correct[i] = i/each, t.Verify(questions[i/each], b.Token[from:to]).Correct
		if b.Correct[i] {
			b.Reward[i] = 1
		}
	}
	return b
}

// graded are groups of eight such responses scored in the learner's engine, with group-relative advantages: a batch as a training step
// sees it.
func graded(e *claim.Env, p *model.Params, rollout, scorer engine.Numerics, groups int) *batch.Batch {
	const size = 8
	b := answered(e, groups, probe{Params: p, Rollout: rollout, Sequences: groups * size, Tokens: 48, Stops: true, Distributions: true})
	measure.Score(b, p, measure.Scoring{Numerics: scorer, Distributions: true})
	b.Anchor = b.Old.Logp
	for i := range b.Len() {
		from, to := b.Span(i)
		mean := stats.Average(b.Reward[i/size*size:][:size])
		for n := from; n < to; n++ {
			b.Advantage[n] = b.Reward[i] - mean
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
