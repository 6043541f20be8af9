// Package ratio has the claims about the arithmetic of importance ratios: what
// becomes of the product over a response as it grows longer.
package ratio

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{lengthTrap(), driftSign(), geoLengthInvariant(), ratioFactorisation(), seqVariance()}
}
