package diagnose

import (
	"fmt"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
)

// The causes that a further column of log-probs decides: the two columns alone cannot tell them from number formats, and
// an index from other routes.
const (
	// LinearAttention is a gated delta rule that one engine computes token by token and the other in chunks, Index an index of
	// sparse attention that chooses other positions in one engine than in the other.
	LinearAttention = "linear attention in two forms"
	Index           = "index of sparse attention"
)

// controls are the columns: the learner's log-probs once more, with one thing as it is in the rollout engine.
var controls = [...]struct {
	cause, how string
	of         func(*reader.Row) []float64
}{
	{LinearAttention, "computes linear attention token by token", func(r *reader.Row) []float64 { return r.Recurrent }},
	{Index, "attends to the positions that the rollout engine's index chose", func(r *reader.Row) []float64 { return r.Indexed }},
}

// sameForm is what to do about linear attention in two forms, which a learner may need and a correction may bear.
const sameForm = "give both engines the same form of linear attention and the same format of its state; where that is too slow, correct for the gap as for one of number formats"

const (
	// mostLeft and halfLeft are the parts of Σk3 that a control may leave for a cause that is named, and for a likely one.
	mostLeft, halfLeft = 0.2, 0.5
)

// controlled is the cause whose control takes most of the gap away, as an onset without a step; nil where none does. What a
// control leaves may be another cause's, and a control that leaves all decides nothing: the learner's form of token by token
// may differ from the rollout engine's.
func controlled(rows []*kept) (o *onset, word Confidence) {
	best := halfLeft
	for i, c := range controls {
		tokens, before, after := 0, 0.0, 0.0
		for _, k := range rows {
			if k.control[i] == nil {
				continue
			}
			for n, roll := range k.roll {
				if x := k.control[i][n]; isLogp(x) {
					tokens++
					before += k3Of(k.old[n] - roll)
					after += k3Of(x - roll)
				}
			}
		}
		if tokens < leastTokens || before == 0 || after/before > best {
			continue
		}
		best = after / before
		o = &onset{cause: c.cause, why: fmt.Sprintf("of k3 %.0f %% is left where the learner %s", 100*best, c.how)}
	}
	if word = Likely; best <= mostLeft {
		word = Confident
	}
	return o, word
}

// k3Of is exp(d) - 1 - d, of a difference as far as the overflow.
func k3Of(d float64) float64 {
	d = max(-overflow, min(overflow, d))
	return elementary.Expm1(d) - d
}
