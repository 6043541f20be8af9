package estimator

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// gapVariations are alpha0 + alpha1 of gap-exponent, half of each.
var gapVariations = []float64{0.01, 0.02, 0.04, 0.08, 0.16}

func gapExponent() claim.Claim {
	return claim.Claim{
		ID:        "gap-exponent",
		Title:     "Return and surrogate are apart in proportion to alpha0 + alpha1 (small decision processes)",
		Statement: "In small discounted decision processes |J - L_mu| grows with the sum of the total variations of the update and of the engines, alpha0 + alpha1, to the power 1.",
		Source:    "A practitioner's account of the three-policy trust region; after TRPO (1502.05477) and CPO (1705.10528).",
		Figure:    "|J - L| <= C (alpha0 + alpha1)",
		Threshold: "Slope of log |J - L| on log(alpha0 + alpha1) from 0.01 to 0.16, mean over 200 processes a draw: interval inside [0.9, 1.1]. A power of 2 is the bound of TRPO.",
		Setup: "The processes of three-policy-bound: 4 states, 3 actions, discount 0.9, solved exactly. alpha1: a random change of the logits of mu; alpha0: a change along the advantages of mu behind it. " +
			"Both have the same largest total variation over states.",
		LeftOut:  "The bound itself, and its constant: three-policy-bound judges them.",
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			n := e.Pick(200, 50, 5)
			x := stats.Logs(gapVariations)
			mean := make([]float64, len(x))
			slope := 0.0
			for range n {
				m := randomProcess(rng)
				logits := randomLogits(rng, 1)
				mu := softmax(logits)
				value, _ := m.solve(mu)
				engine, gradient := randomLogits(rng, 1), m.advantages(value)
				y := make([]float64, len(x))
				for i, a := range gapVariations {
					old, _ := moved(logits, engine, a/2)
					_, p := moved(old, gradient, a/2)
					b := m.bound(mu, p)
					y[i] = elementary.Log(math.Abs(b.truth - b.surrogate))
					mean[i] += y[i] / float64(n)
				}
				slope += stats.Slope(x, y) / float64(n)
			}
			for i := range mean {
				mean[i] = elementary.Exp(mean[i])
			}
			o.Set("slope", slope)
			o.Set("gap", mean...)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Within(claim.Exact, "exponent of |J - L| in alpha0 + alpha1", j.Column("slope"), 0.9, 1.1))
			j.Secondary(claim.Within(claim.Exact, "the same exponent, inside [1.8, 2.2]", j.Column("slope"), 1.8, 2.2))
			j.Evidence.Picture = j.Bars("Distance of return and surrogate", "|J - L|, geometric mean", true, []string{"0.01", "0.02", "0.04", "0.08", "0.16"}, j.Listed("random processes", "gap"))
		},
	}
}
