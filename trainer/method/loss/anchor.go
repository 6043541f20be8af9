package loss

import (
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Anchor is the policy in the denominator of a ratio.
type Anchor string

// The anchors: the recipe's, by default the learner before the step's first update,
// and the rollout engine.
const (
	Old  Anchor = "old"
	Roll Anchor = "roll"
)

// eitherAnchor are the columns of a loss that has such a parameter.
var eitherAnchor = slices.Concat(method.If("anchor old", batch.Anchor), method.If("anchor roll", batch.LogpRoll))

// Column is the batch column of the anchor's log-probs.
func (a Anchor) Column() batch.Column {
	if a == Roll {
		return batch.LogpRoll
	}
	return batch.Anchor
}

// logRatio is the log-ratio to it, as a formula.
func (a Anchor) logRatio() string {
	if a == Roll {
		return "logp - roll"
	}
	return "logp - old"
}

// Of returns the anchor's log-probs.
func (a Anchor) Of(in *batch.Batch) []float64 {
	if a == Roll {
		return in.LogpRoll
	}
	return in.Anchor
}
