package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// RAE is role-conditioned advantage estimation for one role: the reward less a moving average
// of the rewards so far, response by response in the order of the batch.
//
// The average starts at 0 and is not corrected for that. A baseline of each role is the
// same estimator on the responses of that role; a recipe has one role.
type RAE struct {
	Asymmetry `yaml:",inline"`
	// Decay is the share of the average that each reward keeps; 0 takes the reward before.
	Decay float64 `yaml:"decay" default:"0.95" range:"[0,1)"`

	baseline float64
	score    []float64
}

var raeSpec = method.Spec{
	Name: "rae", Unit: method.Batch,
	Does:           "Subtracts an exponential moving average of all rewards so far, without groups and without normalisation.",
	When:           "Use it as the baseline of self-play, or as the plainest baseline that needs no group.",
	Source:         "arXiv 2506.24119; prime-rl rae",
	Formula:        "A_i = R_i − b; then b = decay·b + (1 − decay)·R_i, in the order of the responses",
	Needs:          batch.Columns{batch.Reward},
	Reconstruction: "one role: the published estimator keeps a baseline for each role of a game and each player, and a recipe has one policy that answers prompts",
}

// Estimate fills b.Advantage from Reward and moves the baseline.
func (e *RAE) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Reward); err != nil {
		return err
	}
	e.score = e.score[:0]
	for _, r := range b.Reward {
		e.score = append(e.score, r-e.baseline)
		e.baseline = float64(e.Decay*e.baseline) + float64((1-e.Decay)*r)
	}
	broadcast(b, e.score)
	e.apply(b)
	return nil
}

// AppendState appends the baseline.
func (e *RAE) AppendState(dst []byte) []byte { return method.AppendState(dst, e.baseline) }

// SetState replaces the baseline by that of AppendState.
func (e *RAE) SetState(state []byte) error { return method.ReadState(state, &e.baseline) }
