// Package dynamic has the claims about what happens to a run while it trains:
// which gap or age ends it, what warns before, and which correction keeps it.
package dynamic

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{
		sanitySet(), fp8NeedsCorrection(), unifiedFlow(), quantNoiseEntropy(), zeroGapReward(), nullAgree(), moeGapGrows(),
		isRemoval(), misVsTIS(), negativeSide(), logitFusion(), surgeFirst(), entropyLaw(), otb(), budget(), routingPenalty(),
	}
}
