// Package attempts has the claims about solving a prompt in several attempts.
package attempts

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
	return []claim.Claim{passkEstimator(), passkReward(), hardPrompts(), dynamicSamples(), rankCheckpointsClaim(), read["passk-then-one"]}
}
