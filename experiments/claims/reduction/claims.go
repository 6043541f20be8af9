// Package reduction has the claims about the order of sums, and about engines
// whose order is the same.
package reduction

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{uniqueCompletions(), tpOrder(), sequenceParallel(), batchInvariantZero()}
}
