// Package claims is the list of all published claims that can be measured. They
// stand in packages by theme, one file each; a new theme is a line here.
package claims

import (
	"slices"

	"driftlab/experiments/claim"
	"driftlab/experiments/claims/correction"
	"driftlab/experiments/claims/estimator"
	"driftlab/experiments/claims/length"
	"driftlab/experiments/claims/precision"
	"driftlab/experiments/claims/ratio"
	"driftlab/experiments/claims/reduction"
	"driftlab/experiments/claims/routing"
	"driftlab/experiments/claims/text"
)

// All lists the claims in the order of the survey.
func All() []claim.Claim {
	return slices.Concat(
		ratio.Claims(),
		estimator.Claims(),
		precision.Claims(),
		reduction.Claims(),
		text.Claims(),
		routing.Claims(),
		correction.Claims(),
		length.Claims(),
	)
}

// Lookup returns the claim of that id.
func Lookup(id string) (claim.Claim, bool) {
	for _, c := range All() {
		if c.ID == id {
			return c, true
		}
	}
	return claim.Claim{}, false
}

// IDs lists the ids in the order of All.
func IDs() []string {
	var ids []string
	for _, c := range All() {
		ids = append(ids, c.ID)
	}
	return ids
}
