// Package routing has the claims about mixtures of experts: flips, what they
// carry from layer to layer, and what replaying routes takes away.
package routing

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{moeVsDense(), routerFlips(), replayDrop(), replayHides(), gspoMoE(), moeTKD(), moeRouteDriftLayers()}
}
