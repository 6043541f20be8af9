package measure

import (
	"driftlab/engine/rollout"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// SpeculativeGap is what speculative decoding does to a gap.
type SpeculativeGap struct {
	metrics.Speculation
	// Draft is the number of tokens drafted for a pass, Cost what one costs as a
	// share of a pass, and Speedup the speed predicted from these and Acceptance.
	Draft   int     `json:"draft"`
	Cost    float64 `json:"cost"`
	Speedup float64 `json:"speedup"`
	// Verifier is the gap of the learner to the verifier's log-probs, and Law to
	// those of the law by which tokens were drawn, on the same tokens; Gap itself
	// is to what was recorded, with distributions.
	Verifier metrics.Gap `json:"verifier"`
	Law      metrics.Gap `json:"law"`
}

// speculativeGap measures what became of the drafts of a scored batch.
func (q *Probe) speculativeGap(b *batch.Batch) *SpeculativeGap {
	s, recorded := metrics.CompareDrafts(b)
	if !recorded {
		return nil
	}
	set := q.Recipe.Rollout.Speculative
	g := &SpeculativeGap{Speculation: s, Draft: set.Draft, Cost: engines.DraftCost(set, q.Weights.Drafter, q.Weights.Current, q.Recipe.Rollout.Numerics)}
	g.Speedup = rollout.Speedup(s.Acceptance, g.Cost, set.Draft)
	view := *b
	view.DistRoll = nil // that of what was recorded
	view.LogpRoll = b.LogpVerifier
	g.Verifier = metrics.Compare(&view)
	view.LogpRoll = b.LogpLaw
	g.Law = metrics.Compare(&view)
	return g
}
