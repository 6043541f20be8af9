package attempts

import (
	"context"
	"math"
	"math/rand/v2"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats/passk"
)

// What dynamic-samples draws: every prompt gets dynamicFirst samples and then more until two are
// correct, at most dynamicMost, which is what every prompt gets with a fixed number.
const (
	dynamicPrompts = 64
	dynamicFirst   = 8
	dynamicMost    = 64
	dynamicRepeats = 400
)

func dynamicSamples() claim.Claim {
	return claim.Claim{
		ID:        "dynamic-samples",
		Title:     "Sampling until two responses are correct estimates pass@8 as well as 64 samples for every prompt (simulated prompts)",
		Statement: "With 8 samples per prompt, and more for prompts with fewer than two correct ones, up to 64, pass@8 over 64 prompts has the mean absolute error of 64 samples for every prompt, within 0.005.",
		Source:    "A practitioner's account of pass@k.",
		Figure:    "a dynamic N gives the same for a fraction of the samples",
		Threshold: "Mean |error| of pass@8, dynamic minus fixed number: inside ±0.005 by two one-sided tests. Also checked: samples, fixed over dynamic, interval above 2.",
		Setup: "64 prompts whose pass rates are squares of uniform numbers, so that one in three is below 0.1; 400 repetitions a draw, every response correct by its prompt's pass rate. " +
			"Estimates are those of simulate evaluate: counting, and inverse sampling where it went on.",
		LeftOut:  "Models, and rankings of models.",
		Commands: []string{"simulate evaluate default --samples 8 --most 64 --k 8"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			repeats := float64(e.Pick(dynamicRepeats, 100, 10))
			var errs, used [2]float64
			for range int(repeats) {
				truth := 0.0
				var fixed, dynamic []passk.Tally
				for range dynamicPrompts {
					u := rng.Float64()
					p := float64(u * u)
					truth += float64((1 - elementary.Pow(1-p, dynamicFirst)) / dynamicPrompts)
					fixed = append(fixed, passk.Tally{Correct: correctOf(rng, p, dynamicMost), Samples: dynamicMost})
					t := passk.Tally{Correct: correctOf(rng, p, dynamicFirst), Samples: dynamicFirst}
					for t.Correct < 2 && t.Samples < dynamicMost {
						t.Samples++
						if rng.Float64() < p {
							t.Correct++
							t.Stopped = t.Correct == 2
						}
					}
					dynamic = append(dynamic, t)
					used[0] += dynamicMost / repeats
					used[1] += float64(t.Samples) / repeats
				}
				for i, tallies := range [][]passk.Tally{fixed, dynamic} {
					errs[i] += math.Abs(passk.Mean(tallies, dynamicFirst)-truth) / repeats
				}
			}
			o.Set("error", errs[:]...)
			o.Set("samples", used[:]...)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Inside(claim.Exact, "mean |error| of pass@8, dynamic minus fixed number of samples",
				j.Each(func(o *claim.Observation) float64 { return o.List("error")[1] - o.List("error")[0] }), 0.005))
			j.Secondary(claim.Ratio(claim.Exact, "samples, fixed over dynamic number", j.Entry("samples", 0), j.Entry("samples", 1), 2))
			j.Evidence.Picture = j.Bars("Error of pass@8", "mean |error|", false, []string{"64 samples", "dynamic"}, j.Listed("simulated prompts", "error"))
			j.Evidence.Table = j.NamedTable("Error and samples", "samples per prompt", []string{"64", "dynamic"}, "error", "samples")
		},
	}
}

// correctOf draws n responses of a pass rate and counts the correct ones.
func correctOf(rng *rand.Rand, p float64, n int) (c int) {
	for range n {
		if rng.Float64() < p {
			c++
		}
	}
	return c
}
