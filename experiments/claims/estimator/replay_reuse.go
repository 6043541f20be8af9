package estimator

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/stream"
)

// What replay-reuse enumerates: the batches of the last updates, so many tokens generated for each.
var reuses = []int{1, 4, 16, 64}

const (
	reuseTokens = 16
	reuseDrift  = 0.08 // noise of an update in the logits
)

func replayReuse() claim.Claim {
	return claim.Claim{
		ID:        "replay-reuse",
		Title:     "Replay of some updates lowers the error of a gradient per generated token, replay of many raises it (tokens, enumerated)",
		Statement: "At a fixed number of generated tokens per update, the mean squared error of the gradient with token TIS over the last 4 updates' tokens is below that without replay, and over the last 64 updates' above that over 4.",
		Source:    "Experience replay, 2604.08706, by a survey.",
		Figure:    "replay trades variance against diversity against cost",
		Threshold: "The smaller of two log-ratios of errors, 1 over 4 and 64 over 4: interval above 0. Reported: the log-ratio of each to no replay.",
		Setup: "Random distributions over 64 tokens, logits of standard deviation 2, rewards 0 or 1; each update adds normal noise of 0.08 to the logits, and 16 tokens are generated for each. " +
			"The estimate is the mean over the tokens of the last 1, 4, 16 or 64 updates with weights cut at 2; its bias and variance are enumerated. 100 policies a draw. Nothing was examined before.",
		LeftOut:  "Diversity of prompts; training; priorities.",
		Commands: []string{"simulate train fresh-per"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			n := e.Pick(100, 20, 2)
			logs := make([]float64, len(reuses))
			for range n {
				logits := tokenLogits(rng)
				pi, reward := law(logits), randomRewards(rng, categories)
				exact := gradientOf(pi, pi, reward, plainWeight).mean
				sum, variance, k := make([]float64, categories), 0.0, 0
				for age := range reuses[len(reuses)-1] {
					g := gradientOf(law(logits), pi, reward, truncatedWeight)
					for a := range sum {
						sum[a] += g.mean[a]
					}
					variance += float64((g.second - dot(g.mean, g.mean)) / reuseTokens)
					if used := float64(age + 1); age+1 == reuses[k] {
						bias := make([]float64, categories)
						for a := range bias {
							bias[a] = sum[a]/used - exact[a]
						}
						logs[k] += elementary.Log(dot(bias, bias)+variance/float64(used*used)) / float64(n)
						k++
					}
					for a := range logits {
						logits[a] += float64(reuseDrift * stream.Normal(rng))
					}
				}
			}
			o.Set("log error", logs...)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Above(claim.Natural, "smaller of log error without replay and over 64 updates, minus over 4", j.Each(func(o *claim.Observation) float64 {
				x := o.List("log error")
				return min(x[0], x[3]) - x[1]
			}), 0))
			for k, name := range []string{"4", "16", "64"} {
				j.Secondary(claim.Report(claim.Natural, "log error over "+name+" updates minus without replay", j.Each(func(o *claim.Observation) float64 {
					x := o.List("log error")
					return x[k+1] - x[0]
				})))
			}
			j.Evidence.Picture = j.Bars("Error of the gradient by updates in the buffer", "log of the mean squared error", false, []string{"1", "4", "16", "64"}, j.Listed("random distributions", "log error"))
		},
	}
}
