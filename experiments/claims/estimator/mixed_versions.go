package estimator

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/stream"
)

// versionTokens is the vocabulary of mixed-versions; a response has two tokens.
const versionTokens = 16

func mixedVersions() claim.Claim {
	return claim.Claim{
		ID:        "mixed-versions",
		Title:     "A response of two versions needs the log-probs of both: with those of the newer one alone the weighted gradient is biased (enumerated)",
		Statement: "For responses whose first token an older version sampled, the sequence weight against the newer version alone gives a gradient with a relative error above 0.1; against each token's own version the error is at most 1e-10.",
		Source:    "A survey of training-inference mismatch; AReaL, 2505.24298; balance-heuristic importance sampling.",
		Figure:    "responses of several versions fail in their own way",
		Threshold: "Relative error of the expected gradient, weights against the newer version alone: interval above 0.1. Also checked: against each token's own version, at most 1e-10; log-ratio of that error to that of responses that the older version sampled alone, uncorrected, reported.",
		Setup:     "Two tokens of 16, the second depends on the first; random logits of standard deviation 1, versions apart by normal noise of 0.3 in each, the learner by as much again. Rewards are random numbers of the pair. All 256 responses are enumerated, 20 problems a draw. Nothing was examined before.",
		LeftOut:   "Training: bound-or-mask has it.",
		Commands:  []string{"simulate train areal --set schedule.eta=4"},
		Declared:  claim.BeforeResults,
		Unit:      claim.Draw,
		Version:   1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			n := e.Pick(20, 10, 2)
			var newer, own, stale float64
			for range n {
				// A policy is a law of the first token and one of the second behind each.
				logits := make([][]float64, versionTokens+1)
				for s := range logits {
					for range versionTokens {
						logits[s] = append(logits[s], stream.Normal(rng))
					}
				}
				var versions [3][][]float64
				for v := range versions {
					for s := range logits {
						for a := range logits[s] {
							logits[s][a] += float64(0.3 * stream.Normal(rng))
						}
						versions[v] = append(versions[v], law(logits[s]))
					}
				}
				old, fresh, pi := versions[0], versions[1], versions[2]
				var gain [versionTokens * versionTokens]float64
				for i := range gain {
					gain[i] = stream.Normal(rng)
				}
				// gradient is that of the sampler's first and second law, and of those that weights compare with.
				gradient := func(first, second, claimed, then [][]float64) []float64 {
					g := make([]float64, (versionTokens+1)*versionTokens)
					for a := range versionTokens {
						for b := range versionTokens {
							share := float64(first[0][a] * second[a+1][b])
							weight := float64(pi[0][a]*pi[a+1][b]) / float64(claimed[0][a]*then[a+1][b])
							x := float64(share*weight) * gain[a*versionTokens+b]
							for c := range versionTokens {
								g[c] -= float64(x * pi[0][c])
								g[(a+1)*versionTokens+c] -= float64(x * pi[a+1][c])
							}
							g[a] += float64(x)
							g[(a+1)*versionTokens+b] += float64(x)
						}
					}
					return g
				}
				exact := gradient(pi, pi, pi, pi)
				newer += relativeTo(gradient(old, fresh, fresh, fresh), exact) / float64(n)
				own += relativeTo(gradient(old, fresh, old, fresh), exact) / float64(n)
				stale += relativeTo(gradient(old, old, pi, pi), exact) / float64(n)
			}
			o.Set("relative error", newer, own, stale)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Above(claim.Natural, "relative error of the gradient, weights against the newer version alone", j.Entry("relative error", 0), 0.1))
			j.Secondary(claim.AtMost(claim.Exact, "relative error of the gradient, weights against each token's version", j.Entry("relative error", 1), 1e-10))
			j.Secondary(claim.Report(claim.Natural, "log-ratio of the error to that of the older version alone, uncorrected", j.Each(func(o *claim.Observation) float64 {
				x := o.List("relative error")
				return elementary.Log(x[0] / x[2])
			})))
			j.Evidence.Picture = j.Bars("Relative error of the gradient", "relative error", false, []string{"newer version alone", "each token's version", "older version, uncorrected"}, j.Listed("random processes", "relative error"))
		},
	}
}

// relativeTo is the distance from the exact gradient over its length.
func relativeTo(g, exact []float64) float64 {
	d := make([]float64, len(g))
	for i := range d {
		d[i] = g[i] - exact[i]
	}
	return math.Sqrt(dot(d, d) / dot(exact, exact))
}
