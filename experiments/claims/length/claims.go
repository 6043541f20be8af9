// Package length has the claims about how long responses grow in training.
package length

import (
	"embed"

	"driftlab/experiments/claims/claim"
)

// files are the claims that are arms of a recipe and checks.
//
//go:embed *.yaml
var files embed.FS

// Claims lists them in the order of the survey.
func Claims() []claim.Claim {
	read := claim.Files(files, nil)
	return []claim.Claim{hardGrowth(), easyBleed(), penaltyTrio(), lengthNormIncentive(), searchLengthsClaim(), penaltyStarts(), read["verbose-start"], filterShortens()}
}
