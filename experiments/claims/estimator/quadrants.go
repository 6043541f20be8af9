package estimator

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
)

// quadrantSamples is the number of tokens of a batch.
const quadrantSamples = 64

func quadrants() claim.Claim {
	return claim.Claim{
		ID:        "quadrants",
		Title:     "Rejection has the smaller error where chi² is high and total variation low, weights where it is the other way round (tokens, enumerated)",
		Statement: "The gradient of 64 tokens has a smaller mean squared error with rejection above a ratio of 2 than with untruncated weights where a few rare tokens make chi² high, and a larger one where a broad shift makes total variation high.",
		Source:    "A survey of training-inference mismatch; verl's rollout correction.",
		Figure:    "the quadrant of total variation and chi² says which correction; weights normalised over the batch keep the effective learning rate from drifting",
		Threshold: "The smaller of two log-ratios of mean squared errors, weights over rejection in the first quadrant and rejection over weights in the second, mean of 200 pairs a draw: interval above 0. " +
			"Also checked: no weight over weights in the second quadrant, log-ratio above 0; distance from 1 of the gradient's scale along the exact one, token TIS minus token TIS over its mean, at a broad shift, above 0.",
		Setup: "Random distributions over 64 tokens, logits of standard deviation 2, rewards 0 or 1. Rare tokens: each tenth has a fiftieth of its probability in the rollout engine. Broad shift: normal noise of 0.5 in the logits. " +
			"Mean and variance of what a token adds to the gradient are enumerated. TIS has a cap of 2. Nothing was examined before.",
		LeftOut:  "Training in each quadrant; sequences.",
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			n := e.Pick(200, 50, 4)
			var first, none, plain, normal, tv, chi2 [2]float64
			for range n {
				logits := tokenLogits(rng)
				pi, reward := law(logits), randomRewards(rng, categories)
				exact := gradientOf(pi, pi, reward, plainWeight).mean
				rare := append([]float64(nil), logits...)
				for a := range rare {
					if a%10 == 0 {
						rare[a] -= elementary.Log(50)
					}
				}
				for k, mu := range [][]float64{law(rare), noisyLaw(rng, logits, 0.5)} {
					weights, rejected := gradientOf(mu, pi, reward, ratioWeight), gradientOf(mu, pi, reward, rejectedWeight)
					x := elementary.Log(weights.error(exact, quadrantSamples) / rejected.error(exact, quadrantSamples))
					first[k] += x / float64(n)
					none[k] += elementary.Log(gradientOf(mu, pi, reward, plainWeight).error(exact, quadrantSamples)/weights.error(exact, quadrantSamples)) / float64(n)
					mean, square := 0.0, 0.0
					for a := range mu {
						mean += float64(mu[a] * truncatedWeight(pi[a]/mu[a]))
						square += float64(pi[a]*pi[a]) / mu[a]
					}
					scale := dot(gradientOf(mu, pi, reward, truncatedWeight).mean, exact) / dot(exact, exact)
					plain[k] += math.Abs(scale-1) / float64(n)
					normal[k] += math.Abs(scale/mean-1) / float64(n)
					tv[k] += apart(mu, pi) / float64(n)
					chi2[k] += (square - 1) / float64(n)
				}
			}
			o.Set("log error, weights over rejection", first[:]...)
			o.Set("log error, no weight over weights", none[:]...)
			o.Set("distance of the scale from 1, token TIS", plain[:]...)
			o.Set("distance of the scale from 1, token TIS over its mean", normal[:]...)
			o.Set("total variation", tv[:]...)
			o.Set("chi2", chi2[:]...)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			const errors = "log error, weights over rejection"
			j.Primary(claim.Above(claim.Natural, "smaller of the two log-ratios of errors", j.Each(func(o *claim.Observation) float64 {
				x := o.List(errors)
				return min(x[0], -x[1])
			}), 0))
			j.Secondary(claim.Report(claim.Natural, "log error, weights over rejection, rare tokens", j.Entry(errors, 0)))
			j.Secondary(claim.Report(claim.Natural, "log error, weights over rejection, broad shift", j.Entry(errors, 1)))
			j.Secondary(claim.Above(claim.Natural, "log error, no weight over weights, broad shift", j.Entry("log error, no weight over weights", 1), 0))
			j.Secondary(claim.Above(claim.Natural, "distance of the gradient's scale from 1, token TIS minus token TIS over its mean, broad shift", j.Each(func(o *claim.Observation) float64 {
				return o.List("distance of the scale from 1, token TIS")[1] - o.List("distance of the scale from 1, token TIS over its mean")[1]
			}), 0))
			names := []string{"rare tokens", "broad shift"}
			j.Evidence.Picture = j.Bars("Log-ratio of errors, weights over rejection", "log-ratio", false, names, j.Listed("random distributions", errors))
			j.Evidence.Table = j.NamedTable("The two quadrants", "quadrant", names, "total variation", "chi2", errors, "log error, no weight over weights",
				"distance of the scale from 1, token TIS", "distance of the scale from 1, token TIS over its mean")
		},
	}
}
