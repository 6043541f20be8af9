// Package dynamic has the claims about what happens to a run while it trains:
// which mismatch or staleness collapses it, which early-warning signals precede that, and which correction prevents that.
package dynamic

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{
		sanitySet(), quantNoiseEntropy(), moeGapGrows(),
		negativeSide(), surgeFirst(), entropyLaw(), otb(), budget(), routingPenalty(),
		gapTiming()}
}

// Columns that several claims read: the exact KL over the vocabulary, from the rollout
// engine to the learner, and the share of router decisions that differ.
const (
	gapKL      = "gap/exact_kl"
	routeFlips = "routes/flip_route"
)
