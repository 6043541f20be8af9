// Package length has the claims about how long responses grow in training.
package length

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{hardGrowth(), easyBleed(), penaltyTrio(), lengthNormIncentive(), searchLengthsClaim(), penaltyStarts(), filterShortens()}
}
