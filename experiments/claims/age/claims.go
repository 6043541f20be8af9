// Package age has the claims about how old rollouts are when they are trained:
// what asynchrony gains on the clock, and what training on old data costs.
package age

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{r2VsR3(), arealTable(), stale256(), kernelVsN(), vcpoESS(), lagLaw(), asyncSpeed(), tailLatency(), speedupHonesty()}
}
