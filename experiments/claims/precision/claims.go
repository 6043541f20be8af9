// Package precision has the claims about number formats: what a format, or one
// block promoted out of it, does to the gap between engines.
package precision

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{fp16BF16Gap(), gapVsLength(), quantOrdering(), fp32Head(), sourcesCompound()}
}
