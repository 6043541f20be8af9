// Package batch is the data that travels between the rooms of the trainer.
//
// A Batch holds B responses of ragged length, packed in flat columns: token t
// of response i is entry Offsets[i]+t of every per-token column. Each stage of
// a training step reads some columns and fills others; none hides state, so a
// reader can stop after any stage and print the batch.
//
//	task -> rollout -> reward -> advantage -> learner.Score -> correction -> learner.Step
//
// Suffixes follow one law everywhere: Roll is the rollout engine that sampled
// (policy mu), Old is the learner at the start of the step (pi_old), Ref is the
// frozen reference; a log-prob without a suffix belongs to the current weights.
//
// What it is not: it computes nothing. It is a leaf and imports only the
// standard library.
package batch

import "fmt"

// Batch is B responses to B/G prompts, with everything a stage has recorded so
// far. N is the number of response tokens, Offsets[B]. A nil column has not
// been recorded; a method that needs it says so with an error.
type Batch struct {
	// Offsets has length B+1; response i owns the entries Offsets[i]..Offsets[i+1].
	Offsets []int
	// Prompt holds the prompt tokens of each response; responses of one group share a slice.
	Prompt [][]int32

	// Columns of length N, one entry per response token.

	// Token is the sampled token, or the environment's where Mask is false.
	Token []int32
	// Mask is true where the policy generated the token: false on padding and
	// tool output. There the engines record log-probs and entropies of 0, rows of
	// distributions that mean nothing, and the routes of the rows as of any; only
	// what Mask keeps counts in a loss, an advantage, a weight or a figure.
	Mask []bool
	// LossMask is Mask after the rejections of the correction stage; nil means Mask.
	LossMask []bool
	// BatchMask, BatchWeight and BatchGate are LossMask, Weight and Gate as the
	// batch stage of the correction left them; corrections of a gradient step
	// start from these.
	BatchMask   []bool
	BatchWeight []float64
	BatchGate   []bool
	// LogpRoll is the log-prob of Token in the rollout engine, as it sampled (nats).
	LogpRoll []float64
	// LogpOld is the log-prob in the learner's engine before the step's first update.
	LogpOld []float64
	// Logp is the log-prob in the learner's engine under the current weights.
	Logp []float64
	// LogpRef is the log-prob under the frozen reference policy.
	LogpRef []float64
	// LogpTeacher is the log-prob under a teacher, for losses that distil from one.
	LogpTeacher []float64
	// Advantage is the estimate the policy loss multiplies.
	Advantage []float64
	// Weight is the importance weight of the correction stage; nil means one.
	Weight []float64
	// Gate is false where the policy term of a token is dropped although the
	// token stays in every denominator and sequence statistic, as OPSM and
	// top-entropy masking do; nil means true.
	Gate []bool
	// TokenReward is the reward per token, for estimators that use returns.
	TokenReward []float64
	// Value is the critic's value before each token, for generalised advantages.
	Value []float64
	// Return is the estimator's target for the critic: the discounted reward to
	// come, where the estimator computes one.
	Return []float64
	// Entropy is that of the next-token distribution under LogpOld's weights (nats).
	Entropy []float64
	// SumSquares is sum over the vocabulary of the squared probabilities of that distribution.
	SumSquares []float64
	// Version is the number of updates behind the weights that produced the token.
	Version []int32
	// Turn numbers the turns of a response from 0: what the policy writes up to a
	// call and what the tool replies are one turn.
	Turn []int32
	// KeptMass is the probability the sampling support kept (1 without top-p or top-k).
	KeptMass []float64
	// Support is the sampling support of each token: Support[n] sorted, nil for the whole vocabulary.
	Support [][]int32

	// KVKept has a bit for each position that was still in the rollout engine's
	// compressed KV cache when it predicted the token, [token][plane][word]:
	// position p of the sequence, prompt included, is bit p%64 of word p/64. There
	// are KVPlanes planes per token, one for all layers and key heads or one for
	// each, [layer][key head], of KVWords words. nil means a full cache.
	KVKept []uint64
	// KVPlanes and KVWords give its shape.
	KVPlanes, KVWords int

	// Draft says what became of the place of each token in speculative decoding,
	// and Window numbers the verifier's passes of a response from 0, -1 for tokens
	// of tools; nil where nothing was drafted, and so the columns that follow. Version
	// is the verifier's.
	Draft  []DraftFlag
	Window []int32
	// DrafterVersion is the number of updates behind the weights that drafted for
	// the place, -1 where nothing was drafted.
	DrafterVersion []int32
	// LogpVerifier is the log-prob of Token in the verifier, and LogpLaw that of the
	// law by which verification emitted it: the same where verification is exact.
	LogpVerifier, LogpLaw []float64
	// DraftTV is the total variation of the drafter's law and the verifier's, and
	// LawTV that of the law of the emitted token and the verifier's; 0 where
	// nothing was drafted.
	DraftTV, LawTV []float64

	// RoutesRoll and RoutesOld are the experts each token visited in the two
	// engines, in the order [token][layer][rank], flat, Layers*TopK entries per
	// token. Entry n belongs to the forward pass that predicts Token n.
	RoutesRoll, RoutesOld []uint8
	// PromptRoutes are the experts that the prompt's tokens visited in the rollout
	// engine, all but the last (whose entry belongs to the first response token),
	// per response, in the same order.
	PromptRoutes [][]uint8
	// PromptRoutesOld are the same in the learner's pass before the first update.
	PromptRoutesOld [][]uint8
	// GatesRoll and GatesOld are the gates that weighed the experts of RoutesRoll
	// and RoutesOld, in the same order; PromptGates and PromptGatesOld go with
	// PromptRoutes and PromptRoutesOld. Recorded where gates are replayed.
	GatesRoll, GatesOld         []float32
	PromptGates, PromptGatesOld [][]float32
	// Layers and TopK give the shape of the routes.
	Layers, TopK int

	// DistRoll, DistOld, Dist and DistRef are full next-token log-probs, N rows
	// of Vocab entries, recorded when a method or a metric needs them.
	DistRoll, DistOld, Dist, DistRef []float32
	// DistShadow are those of the learner's current weights with the retention
	// masks replayed, where Dist is of its dense attention.
	DistShadow []float32
	// Vocab is the row length of the distributions.
	Vocab int

	// Columns of length B, one entry per response.

	// Group is the index of the prompt group, from 0, groups contiguous.
	Group []int
	// PromptID names the prompt within the task.
	PromptID []int64
	// Reward is the scalar reward of the response.
	Reward []float64
	// RewardParts is the reward per kind, [response][kind], for estimators that keep kinds apart.
	RewardParts [][]float64
	// GreedyReward is the reward of the greedy response to the same prompt.
	GreedyReward []float64
	// Correct is the verifier's label, whatever the reward makes of it.
	Correct []bool
	// Finished is true where the response ended with the stop token, false where it was cut.
	Finished []bool
	// ScoreNorm is the norm of the gradient of the response's log-prob, for optimal baselines.
	ScoreNorm []float64

	// Step is the training step that the batch belongs to, from 0.
	Step int
	// LearnerVersion is the number of updates behind the learner's weights.
	LearnerVersion int
}

// DraftFlag says what became of one place of a response in speculative decoding.
type DraftFlag uint8

const (
	// Undrafted is a token that the verifier drew by itself.
	Undrafted DraftFlag = iota
	// Accepted is a drafted token that passed.
	Accepted
	// Replaced is the verifier's token in the place of a drafted one.
	Replaced
)

// ForgetDrafts removes the columns of speculative decoding.
func (b *Batch) ForgetDrafts() {
	b.Draft, b.Window, b.DrafterVersion = nil, nil, nil
	b.LogpVerifier, b.LogpLaw, b.DraftTV, b.LawTV = nil, nil, nil, nil
}

// Len returns B, the number of responses.
func (b *Batch) Len() int { return len(b.Offsets) - 1 }

// Tokens returns N, the number of response tokens.
func (b *Batch) Tokens() int { return b.Offsets[len(b.Offsets)-1] }

// Span returns the half-open range of the entries of response i.
func (b *Batch) Span(i int) (from, to int) { return b.Offsets[i], b.Offsets[i+1] }

// Active returns the mask the loss sums over: LossMask where the correction
// stage has filled it, else Mask.
func (b *Batch) Active() []bool {
	if b.LossMask != nil {
		return b.LossMask
	}
	return b.Mask
}

// Require returns an error that names the first column of the list that has
// not been recorded. Names are those of the fields.
func (b *Batch) Require(columns ...string) error {
	n := b.Tokens()
	for _, name := range columns {
		var have, want int
		switch name {
		case "Token":
			have, want = len(b.Token), n
		case "Mask":
			have, want = len(b.Mask), n
		case "LogpRoll":
			have, want = len(b.LogpRoll), n
		case "LogpOld":
			have, want = len(b.LogpOld), n
		case "Logp":
			have, want = len(b.Logp), n
		case "LogpRef":
			have, want = len(b.LogpRef), n
		case "LogpTeacher":
			have, want = len(b.LogpTeacher), n
		case "Advantage":
			have, want = len(b.Advantage), n
		case "TokenReward":
			have, want = len(b.TokenReward), n
		case "Value":
			have, want = len(b.Value), n
		case "Return":
			have, want = len(b.Return), n
		case "Entropy":
			have, want = len(b.Entropy), n
		case "SumSquares":
			have, want = len(b.SumSquares), n
		case "Version":
			have, want = len(b.Version), n
		case "Turn":
			have, want = len(b.Turn), n
		case "KeptMass":
			have, want = len(b.KeptMass), n
		case "Draft":
			have, want = len(b.Draft), n
		case "LogpVerifier":
			have, want = len(b.LogpVerifier), n
		case "LogpLaw":
			have, want = len(b.LogpLaw), n
		case "KVKept":
			have, want = len(b.KVKept), n*b.KVPlanes*b.KVWords
			if b.KVKept == nil {
				want = max(want, 1)
			}
		case "DistRoll":
			have, want = len(b.DistRoll), n*b.Vocab
		case "DistOld":
			have, want = len(b.DistOld), n*b.Vocab
		case "Dist":
			have, want = len(b.Dist), n*b.Vocab
		case "DistShadow":
			have, want = len(b.DistShadow), n*b.Vocab
		case "DistRef":
			have, want = len(b.DistRef), n*b.Vocab
		case "Group":
			have, want = len(b.Group), b.Len()
		case "Reward":
			have, want = len(b.Reward), b.Len()
		case "RewardParts":
			have, want = len(b.RewardParts), b.Len()
		case "GreedyReward":
			have, want = len(b.GreedyReward), b.Len()
		case "Correct":
			have, want = len(b.Correct), b.Len()
		case "ScoreNorm":
			have, want = len(b.ScoreNorm), b.Len()
		default:
			panic("batch: Require of an unknown column " + name)
		}
		if have != want {
			return fmt.Errorf("batch: column %s has %d entries, need %d: record it before this stage", name, have, want)
		}
	}
	return nil
}
