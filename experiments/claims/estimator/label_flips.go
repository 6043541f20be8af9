package estimator

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

// What label-flips draws.
const (
	flipGroup     = 8
	flipThreshold = 0.25
)

// flipNoise are the standard deviations of the score's noise.
var flipNoise = []float64{0.1, 0.3, 0.6}

func labelFlips() claim.Claim {
	return claim.Claim{
		ID:        "label-flips",
		Title:     "Labels of three values turn fewer signs of advantages than the scores they come from (simulated groups)",
		Statement: "With noise of 0.3 on scores around a reference, fewer responses have an advantage of the wrong sign under labels of three values than under the scores.",
		Source:    "CompassMax-V3-Thinking, 2512.07710.",
		Figure:    "ternary labels prevent sign flips of advantages near the group's mean",
		Threshold: "Share of responses whose advantage has the other sign than without noise, labels over scores, noise 0.3: interval below 1. Also checked: noise 0.1 and 0.6; share of the responses with a sign without noise that have advantage 0 under labels, reported.",
		Setup: "Groups of 8 responses, each right with the group's own probability; the score is 0.5 for a right response, -0.5 for a wrong one, and 0.5 times a uniform share of right steps less a quarter, plus normal noise. Labels are +1, 0, -1 by a threshold of 0.25. " +
			"The advantage is the reward less the group's mean; its sign without noise is that of the score without noise. 2,000 groups a draw. Nothing was examined before.",
		LeftOut:  "Training: label-noise has it.",
		Commands: []string{"simulate methods genrm_ternary"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			groups := e.Pick(2000, 400, 20)
			for _, noise := range flipNoise {
				var all, scores, labels, silent float64
				for range groups {
					rate := rng.Float64()
					truth, noisy, label := make([]float64, flipGroup), make([]float64, flipGroup), make([]float64, flipGroup)
					for i := range truth {
						truth[i] = -0.5
						if rng.Float64() < rate {
							truth[i] = 0.5
						}
						truth[i] += float64(0.5*rng.Float64()) - 0.25
						noisy[i] = truth[i] + float64(noise*stream.Normal(rng))
						switch {
						case noisy[i] > flipThreshold:
							label[i] = 1
						case noisy[i] < -flipThreshold:
							label[i] = -1
						}
					}
					a, b, c := stats.Average(truth), stats.Average(noisy), stats.Average(label)
					for i := range truth {
						all++
						if (truth[i]-a)*(noisy[i]-b) < 0 {
							scores++
						}
						switch sign := (truth[i] - a) * (label[i] - c); {
						case sign < 0:
							labels++
						case sign == 0:
							silent++
						}
					}
				}
				o.Set(flipName(noise), scores/all, labels/all, silent/all)
			}
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			for k, noise := range flipNoise {
				c := claim.RatioBelow(claim.Natural, "share of turned signs, labels over scores, "+flipName(noise), j.Entry(flipName(noise), 1), j.Entry(flipName(noise), 0), 1)
				if k == 1 {
					j.Primary(c)
				} else {
					j.Secondary(c)
				}
			}
			j.Secondary(claim.Report(claim.Natural, "share of advantages that are 0 under labels, "+flipName(flipNoise[1]), j.Entry(flipName(flipNoise[1]), 2)))
			j.Evidence.Picture = j.Bars("Advantages of the wrong sign, "+flipName(flipNoise[1]), "share", false, []string{"scores", "labels"}, j.Listed("simulated groups", flipName(flipNoise[1])))
		},
	}
}

// flipName is the figure of a noise.
func flipName(noise float64) string {
	return map[float64]string{0.1: "noise 0.1", 0.3: "noise 0.3", 0.6: "noise 0.6"}[noise]
}
