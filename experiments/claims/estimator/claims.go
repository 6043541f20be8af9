// Package estimator has the claims about estimators and bounds. They are
// measured on processes small enough to enumerate, without a model.
package estimator

import "driftlab/experiments/claims/claim"

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	return []claim.Claim{kEstimators(), sgaFrontier(), sgaTraining(), threePolicyBound(), gapExponent(), chi2M2(), truncatedLaw(), geometricMixing(), regionVariance(),
		quadrants(), replayReuse(), labelFlips(), mixedVersions(), tableStaleness(), tableMismatch(), tablePassK()}
}
