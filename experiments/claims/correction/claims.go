// Package correction has the claims about masks, weights and trust regions: what
// a correction sees and does.
package correction

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{opsmIsGeo(), icepopRate(), recomputeBlind(), trustRegionShape()}
}
