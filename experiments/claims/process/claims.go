// Package process has the claims about rewards for steps in place of answers, above
// all those that the policy gives itself.
package process

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{prmTelescope(), prmFlattening(), separateNorm()}
}
