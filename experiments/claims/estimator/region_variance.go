package estimator

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

// What region-variance draws: prompts with so many answers, whose rewards are 0 or 1.
const (
	regionAnswers = 32
	regionPrompts = 200
	regionStep    = 0.3
	regionRadius  = 0.01
)

func regionVariance() claim.Claim {
	return claim.Claim{
		ID:        "region-variance",
		Title:     "With one step size for all prompts, prompts of high reward variance leave a trust region first",
		Statement: "After an exponentiated step of the same size, the KL divergence of a prompt's new policy from its old one grows with the variance of the prompt's reward by a power of 1.",
		Source:    "QUATRO, 2602.04620 (abstract).",
		Figure:    "prompts of high variance get the tighter region: the multiplier grows with the standard deviation of the rewards",
		Threshold: "Slope of log KL on the log of the reward's variance over 200 prompts: interval inside [0.9, 1.1]. Also checked: the slope of the log of the multiplier that keeps the KL at 0.01 on the log of the variance, inside [0.45, 0.55].",
		Setup: "200 prompts of 32 answers with random probabilities; each answer is right with a probability of the prompt's own. The new policy is proportional to old·exp(reward/multiplier), solved exactly: with the multiplier 1/0.3 for all, " +
			"and with the multiplier of each prompt at which the KL is 0.01.",
		LeftOut:  "QUATRO's loss in training.",
		Commands: []string{"simulate methods quatro --explain"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			var variance, moved, multiplier []float64
			for range e.Pick(regionPrompts, 50, 8) {
				q := make([]float64, regionAnswers)
				sum := 0.0
				for i := range q {
					q[i] = elementary.Exp(stream.Normal(rng))
					sum += q[i]
				}
				right, rate := make([]bool, regionAnswers), rng.Float64()
				mass := 0.0
				for i := range q {
					q[i] /= sum
					if right[i] = rng.Float64() < rate; right[i] {
						mass += q[i]
					}
				}
				if mass < 0.01 || mass > 0.99 {
					continue
				}
				variance = append(variance, elementary.Log(mass*(1-mass)))
				moved = append(moved, elementary.Log(tilted(mass, regionStep)))
				low, high := 1e-3, 10.
				for range 60 {
					at := math.Sqrt(low * high)
					if tilted(mass, at) < regionRadius {
						low = at
					} else {
						high = at
					}
				}
				multiplier = append(multiplier, -elementary.Log(low))
			}
			o.Set("slope of KL", stats.Slope(variance, moved))
			o.Set("slope of the multiplier", stats.Slope(variance, multiplier))
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Within(claim.Natural, "exponent of KL in the variance of the reward", j.Column("slope of KL"), 0.9, 1.1))
			j.Secondary(claim.Within(claim.Natural, "exponent of the multiplier in the variance of the reward", j.Column("slope of the multiplier"), 0.45, 0.55))
			names := []string{"slope of KL", "slope of the multiplier"}
			j.Evidence.Picture = j.Bars("Exponents in the variance of the reward", "exponent", false, []string{"KL, one step size", "multiplier, one radius"},
				claim.Group{Name: "random prompts", Values: func(k int) []float64 { return j.Column(names[k]) }})
		},
	}
}

// tilted is the KL divergence from a policy to the one proportional to it times exp(step·reward), of
// the mass of right answers: the answers of one reward keep their shares.
func tilted(mass, step float64) float64 {
	up := float64(mass * elementary.Exp(step))
	z := up + 1 - mass
	return float64(float64(up/z)*step) - elementary.Log(z)
}
