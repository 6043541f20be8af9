// Package batch is the batch that the stages of a training step fill.
//
// A Batch is grouped by who fills it. A rollout engine fills Sampled; a learner
// fills one Scored for each policy that it scores the same tokens under; the
// stages that grade fill Graded, the correction Corrected. So what wants only a
// part, a dump, a replay buffer, a response that is not complete, holds just that
// part. Token t of response i is entry Offsets[i]+t of every per-token column. Each
// stage of a training step reads some columns and fills others; none hides state,
// so a reader can stop after any stage and print the batch:
//
//	prompts -> rollout.Generate (Sampled) -> reward (Graded) -> learner.Score (Old, Ref, ...)
//	        -> correction (Corrected) -> advantage (Graded) -> per minibatch: learner.Gradient (Now)
//
// Four log-probs of a token make every ratio: mu, LogpRoll, of the rollout engine
// as it sampled; pi_v, Behaviour.Logp, in the learner's numerics at the version that
// sampled it; pi_old, Old.Logp, of the learner before the step's first update; pi,
// Now.Logp, of its current weights. Then
//
//	log pi - log mu = (pi - pi_old) + (pi_old - pi_v) + (pi_v - mu)
//
// is drift, lag and engine. Suffixes follow one rule: Roll is the rollout engine.
//
// What it is not: it computes nothing.
package batch

import (
	"iter"

	"driftlab/engine/column"
)

// The parts of a batch that engines fill.
type (
	// Sampled is what a rollout engine records.
	Sampled = column.Sampled
	// Scored is what a learner records of one policy.
	Scored = column.Scored
	// Metric is one named figure of a step.
	Metric = column.Metric
	// draftFlag says what became of a drafted place.
	draftFlag = column.DraftFlag
)

// The outcomes of speculative decoding.
const (
	Undrafted = column.Undrafted
	Accepted  = column.Accepted
	Replaced  = column.Replaced
)

// Batch is B responses with everything that a stage has recorded so far. A nil
// column has not been recorded; a method that needs it says so with an error.
type Batch struct {
	Sampled

	// Old is pi_old, the learner before the step's first update.
	Old Scored
	// Behaviour is pi_v, the learner's numerics at the version that sampled each token.
	Behaviour Scored
	// Ref is the frozen reference, Teacher a policy to distil from.
	Ref, Teacher Scored
	// Now is pi, the learner's current weights. Where retention masks are replayed
	// with a dense pass, Now is of the dense one there and Shadow of the masked.
	Now, Shadow Scored

	Graded
	Corrected

	// Step is the training step that the batch belongs to, from 0.
	Step int
	// LearnerVersion is the number of updates that the learner's weights have had.
	LearnerVersion int
}

// Graded is what the stages between sampling and learning make of responses.
type Graded struct {
	// Columns of length B, one entry per response.

	// Reward is the scalar reward of the response.
	Reward []float64
	// RewardParts is the reward per kind, [response][kind], for estimators that treat kinds separately.
	RewardParts [][]float64
	// OutcomeParts are the parts in RewardParts that judge the response as a whole;
	// StepReward has the others. Nil where no kind has a place: then all do.
	OutcomeParts [][]float64
	// GreedyReward is the reward of the greedy response to the same prompt.
	GreedyReward []float64
	// Correct is the verifier's label, whatever the reward makes of it.
	Correct []bool
	// ScoreNorm is the norm of the gradient of the response's log-prob, for optimal baselines.
	ScoreNorm []float64

	// Columns of length N, one entry per response token.

	// Advantage is the estimate the policy loss multiplies.
	Advantage []float64
	// TokenReward is the reward per token, for estimators that use returns.
	TokenReward []float64
	// StepReward is the reward of the kinds that have a place within the response,
	// on the tokens they judge: TokenReward without the outcome.
	StepReward []float64
	// Value is the critic's value before each token, for generalised advantages.
	Value []float64
	// Guided marks the tokens on which the teacher signal counts; nil means all.
	Guided []bool
	// Return is the estimator's target for the critic: the discounted reward to
	// come, where the estimator computes one.
	Return []float64
	// Episode numbers the stretches of a response that the policy's own values judge,
	// from 0; the answer is the last. PrefixValue is the value of the response up to
	// where the token's episode begins, the same on all of its tokens.
	Episode     []int32
	PrefixValue []float64
}

// Corrected is what the correction makes of a batch, [N] each.
type Corrected struct {
	// Anchor is the log-prob that the loss and the correction take for the old
	// policy's: pi_old, pi_v, mu or another, as the recipe says. It may be one of the
	// other columns, and is read only.
	Anchor []float64
	// LossMask is Mask after the rejections of the correction stage; nil means Mask.
	LossMask []bool
	// Weight is the importance weight of the correction stage; nil means one.
	Weight []float64
	// Gate is false where the policy term of a token is dropped although the
	// token stays in every denominator and sequence statistic, as OPSM and
	// top-entropy masking do; nil means true.
	Gate []bool
	// BatchMask, BatchWeight and BatchGate are LossMask, Weight and Gate as the
	// batch stage of the correction left them; corrections of a gradient step
	// start from these.
	BatchMask   []bool
	BatchWeight []float64
	BatchGate   []bool
}

// Active returns the mask the loss sums over: LossMask where the correction
// stage has filled it, else Mask.
func (b *Batch) Active() []bool {
	if b.LossMask != nil {
		return b.LossMask
	}
	return b.Mask
}

// Select copies the given responses, in the given order, into dst, with every
// column that has been recorded, and keeps dst's memory. It is how a minibatch
// is cut out of a batch. Columns that have not been recorded are nil in dst.
func (b *Batch) Select(dst *Batch, rows []int) {
	in := &b.Sampled
	in.Select(&dst.Sampled, rows)
	b.Old.Select(&dst.Old, in, rows)
	b.Behaviour.Select(&dst.Behaviour, in, rows)
	b.Ref.Select(&dst.Ref, in, rows)
	b.Teacher.Select(&dst.Teacher, in, rows)
	b.Now.Select(&dst.Now, in, rows)
	b.Shadow.Select(&dst.Shadow, in, rows)

	for c := Reward; c <= Anchor; c++ {
		columns[c].choose(dst, b, rows)
	}
	gather(&dst.LossMask, b.LossMask, in, rows)
	gather(&dst.Weight, b.Weight, in, rows)
	gather(&dst.Gate, b.Gate, in, rows)
	gather(&dst.BatchMask, b.BatchMask, in, rows)
	gather(&dst.BatchWeight, b.BatchWeight, in, rows)
	gather(&dst.BatchGate, b.BatchGate, in, rows)
	dst.Step, dst.LearnerVersion = b.Step, b.LearnerVersion
}

// gather is column.Gather of a column with an entry per token.
func gather[T any](dst *[]T, src []T, in *Sampled, rows []int) {
	*dst = column.Gather(*dst, src, column.PerToken, in, rows)
}

// Groups are the prompt groups of a batch, whatever their sizes and wherever
// their responses stand. The zero value is empty; Find fills it, in its memory.
type Groups struct {
	// rows holds the responses group by group, start the ends of the groups in it.
	rows, start []int
	index       map[int]int // group number -> group
}

// Find collects the groups from the number of each response: groups in the order
// of their first response, responses of a group in the order of the batch.
func (g *Groups) Find(group []int) {
	if g.index == nil {
		g.index = map[int]int{}
	}
	clear(g.index)
	g.start = append(g.start[:0], 0)
	for _, number := range group {
		k, known := g.index[number]
		if !known {
			k = len(g.index)
			g.index[number] = k
			g.start = append(g.start, 0)
		}
		g.start[k+1]++
	}
	for k := range g.Len() {
		g.start[k+1] += g.start[k]
	}
	g.rows = Zeroed(g.rows, len(group))
	for i, number := range group {
		k := g.index[number]
		g.rows[g.start[k]] = i
		g.start[k]++
	}
	copy(g.start[1:], g.start[:g.Len()]) // each moved to where the next began
	g.start[0] = 0
}

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.start) - 1 }

// Rows are the responses of group k, in the order of the batch.
func (g *Groups) Rows(k int) []int { return g.rows[g.start[k]:g.start[k+1]] }

// All are the responses of each group, as Rows has them.
func (g *Groups) All() iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		for k := range g.Len() {
			if !yield(g.Rows(k)) {
				return
			}
		}
	}
}
