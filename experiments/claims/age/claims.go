// Package age has the claims about how stale rollouts are when they are trained:
// what asynchrony gains on the clock, and what training on old data costs.
package age

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
	return []claim.Claim{read["r2-vs-r3"], arealTable(), read["stale-256"], read["kernel-vs-n"], vcpoESS(), lagLaw(), asyncSpeed(), tailLatency(), speedupHonesty(),
		meanAgeLaw(), lagRateLaw(), periodicClock(), read["stale-losses"], read["lag-tolerance"], read["stale-masks"], read["bound-or-mask"], read["topr-lag"], read["oapl-448"],
		read["areal-bounds"], read["replay-minibatches"]}
}
