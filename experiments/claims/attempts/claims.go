// Package attempts has the claims about solving a prompt in several attempts.
package attempts

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{passkEstimator(), passkReward(), hardPrompts(), dynamicSamples(), rankCheckpointsClaim()}
}
