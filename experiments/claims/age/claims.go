// Package age has the claims about how stale rollouts are when they are trained:
// what asynchrony gains on the clock, and what training on old data costs.
package age

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{arealTable(), vcpoESS(), lagLaw(), asyncSpeed(), tailLatency(), speedupHonesty(),
		meanAgeLaw(), lagRateLaw(), periodicClock()}
}
