// Package text has the claims about where in the text the gap sits: on which
// tokens, behind which, over which support.
package text

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{lowProbTail(), errorTokensClaim(), toolTokens(), toolUpdate(), supportBias()}
}
