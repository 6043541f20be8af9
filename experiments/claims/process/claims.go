// Package process has the claims about rewards for steps in place of answers, above
// all those that the policy gives itself.
package process

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
	return []claim.Claim{prmTelescope(), prmFlattening(), separateNorm(), read["label-noise"], read["turn-credit"], read["reply-weights"], read["zero-pass-rate"],
		read["lagging-values"], read["process-verbosity"]}
}
