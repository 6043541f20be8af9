// Package claims is the list of all published claims that can be measured. They
// stand in packages by theme, one file each; a new theme is a line here.
package claims

import (
	"slices"
	"sync"

	"driftlab/experiments/claims/age"
	"driftlab/experiments/claims/attempts"
	"driftlab/experiments/claims/claim"
	"driftlab/experiments/claims/correction"
	"driftlab/experiments/claims/distillation"
	"driftlab/experiments/claims/dynamic"
	"driftlab/experiments/claims/estimator"
	"driftlab/experiments/claims/length"
	"driftlab/experiments/claims/precision"
	"driftlab/experiments/claims/process"
	"driftlab/experiments/claims/ratio"
	"driftlab/experiments/claims/reduction"
	"driftlab/experiments/claims/routing"
	"driftlab/experiments/claims/scaling"
	"driftlab/experiments/claims/text"
)

// themes are the packages, in the order of the survey.
var themes = []struct {
	name   string
	claims func() []claim.Claim
}{
	{"ratio", ratio.Claims},
	{"estimator", estimator.Claims},
	{"precision", precision.Claims},
	{"reduction", reduction.Claims},
	{"text", text.Claims},
	{"routing", routing.Claims},
	{"correction", correction.Claims},
	{"length", length.Claims},
	{"attempts", attempts.Claims},
	{"process", process.Claims},
	{"distillation", distillation.Claims},
	{"age", age.Claims},
	{"dynamic", dynamic.Claims},
	{"scaling", scaling.Claims},
}

// All lists the claims in the order of the survey.
func All() []claim.Claim { return slices.Clone(read()) }

// read makes the list once: some claims are files.
var read = sync.OnceValue(func() []claim.Claim {
	var all []claim.Claim
	for _, t := range themes {
		for _, c := range t.claims() {
			c.Theme = t.name
			all = append(all, c)
		}
	}
	return all
})

// Lookup returns the claim of that id.
func Lookup(id string) (claim.Claim, bool) {
	for _, c := range read() {
		if c.ID == id {
			return c, true
		}
	}
	return claim.Claim{}, false
}

// IDs lists the ids in the order of All.
func IDs() []string {
	var ids []string
	for _, c := range read() {
		ids = append(ids, c.ID)
	}
	return ids
}
