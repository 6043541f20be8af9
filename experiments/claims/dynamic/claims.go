// Package dynamic has the claims about what happens to a run while it trains:
// which mismatch or staleness collapses it, which early-warning signals precede that, and which correction prevents that.
package dynamic

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
	read := claim.Files(files, map[string]string{"fp4_pilot": flowPilot})
	return []claim.Claim{
		sanitySet(), read["fp8-needs-correction"], read["unified-flow"], quantNoiseEntropy(), read["zero-gap-reward"], read["null-agree"], moeGapGrows(),
		read["is-removal"], read["mis-vs-tis"], negativeSide(), read["logit-fusion"], surgeFirst(), entropyLaw(), otb(), budget(), routingPenalty(),
		gapTiming(), read["weight-and-clip"], read["tree-policy"], read["listed-configurations"], read["two-bounds"], read["noise-rule"], read["kv-mask"], read["stale-drafter"], read["router-of-a-reference"], read["kl-over-epochs"],
	}
}

// flowPilot says which pilot runs were made before the claims on fp4 rollouts were written.
const flowPilot = "Pilot runs with the shipped weights on seed 9001, 150 updates, last evaluation in the learner's engine: at 1e-3 fp4 rollouts end at 0.93, with token TIS at 0.85, with the learner in fp4 too at 0.96; at 2e-3 at 0.16, 0.58 and 0.61, equal bf16 engines at 0.81; fp8 rollouts at 5e-4 at 0.95. Taken were 1e-3 and 2e-3, and the runs were cut to save compute. Previews with warm starts of their own on seeds 9001 and 9002 changed nothing: at 2e-3 fp8 rollouts end at 0.41 and 0.77, fp4 at 0.22 and 0.59, equal engines at 0.73 and 0.84."

// Columns that several claims read: the exact KL over the vocabulary, from the rollout
// engine to the learner, and the share of router decisions that differ.
const (
	gapKL      = "gap/exact_kl"
	routeFlips = "routes/flip_route"
)
