package attempts

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
	"driftlab/trainer/method/stream"
)

// What rank-checkpoints draws: checkpoints whose prompts differ in how pass rates are spread.
const (
	rankCheckpoints = 8
	rankPrompts     = 128
	rankSamples     = 32
	rankFar         = 64
	rankRepeats     = 50
)

func rankCheckpointsClaim() claim.Claim {
	return claim.Claim{
		ID:        "rank-checkpoints",
		Title:     "32 samples per prompt and their pass rates rank checkpoints by pass@64 as their true pass rates do (simulated prompts)",
		Statement: "Over eight checkpoints, the rank correlation of pass@64 from the pass rates of 32 samples with the true pass@64 is above 0.9.",
		Source:    "A practitioner's account of pass@k.",
		Figure:    "32 samples and a Bernoulli estimate per prompt are enough to rank checkpoints; rankings by pass@k and pass@1 differ, since k weighs hard prompts",
		Threshold: "Spearman's correlation of estimated and true pass@64 over eight checkpoints, mean of 50 sets a draw: interval above 0.9. " +
			"Also checked: the same of pass@8 by counting, above 0.9; pairs of checkpoints of which the one with the higher pass@1 has the lower pass@64, share of all, above 0.1.",
		Setup: "Eight checkpoints of 128 prompts. A prompt's pass rate is the logistic function of a normal number, the prompt's ability plus the checkpoint's shift; the shift is normal with standard deviation 0.3, and the spread over prompts is 1.5 to 2.5, uniform by checkpoint, as of policies that have become sure of some prompts and given up others. " +
			"The estimate is 1 - (1 - c/32)^64 per prompt, c the correct ones of 32.",
		LeftOut:  "Models. How much rankings turn depends on the spreads, which are ours.",
		Commands: []string{"simulate evaluate default --samples 32 --k 1,64"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure: func(_ context.Context, e *claim.Env) (*claim.Observation, error) {
			o, rng := new(claim.Observation), e.Rand(1)
			repeats := e.Pick(rankRepeats, 20, 3)
			var far, near, turned float64
			for range repeats {
				var one, truth, estimate, eight, counted []float64
				ability := make([]float64, rankPrompts)
				for i := range ability {
					ability[i] = stream.Normal(rng)
				}
				for range rankCheckpoints {
					shift, spread := float64(0.3*stream.Normal(rng)), 1.5+float64(rng.Float64())
					var p1, pFar, plug, p8 float64
					var tallies []passk.Tally
					for _, a := range ability {
						p := 1 / (1 + elementary.Exp(-(float64(spread*(float64(0.8*a)+float64(0.6*stream.Normal(rng)))) + shift)))
						c := correctOf(rng, p, rankSamples)
						p1 += float64(p / rankPrompts)
						pFar += float64((1 - elementary.Pow(1-p, rankFar)) / rankPrompts)
						p8 += float64((1 - elementary.Pow(1-p, 8)) / rankPrompts)
						plug += float64((1 - elementary.Pow(1-float64(float64(c)/rankSamples), rankFar)) / rankPrompts)
						tallies = append(tallies, passk.Tally{Correct: c, Samples: rankSamples})
					}
					one, truth, estimate = append(one, p1), append(truth, pFar), append(estimate, plug)
					eight, counted = append(eight, p8), append(counted, passk.Mean(tallies, 8))
				}
				far += stats.Spearman(estimate, truth) / float64(repeats)
				near += stats.Spearman(counted, eight) / float64(repeats)
				pairs := 0.0
				for i := range one {
					for k := range i {
						if (one[i] > one[k]) != (truth[i] > truth[k]) {
							pairs += 2. / (rankCheckpoints * (rankCheckpoints - 1))
						}
					}
				}
				turned += pairs / float64(repeats)
			}
			o.Set("rank correlation", far, near)
			o.Set("pairs that turn", turned)
			return o, nil
		},
		Judge: func(j *claim.Judge) {
			j.Primary(claim.Above(claim.Natural, "rank correlation with the true pass@64, pass rates of 32 samples", j.Entry("rank correlation", 0), 0.9))
			j.Secondary(claim.Above(claim.Natural, "rank correlation with the true pass@8, counting of 32 samples", j.Entry("rank correlation", 1), 0.9))
			j.Secondary(claim.Above(claim.Natural, "share of pairs whose order by pass@64 is not that by pass@1", j.Column("pairs that turn"), 0.1))
			j.Evidence.Picture = j.Bars("Rank correlation with the truth", "Spearman's correlation", false, []string{"pass@64, pass rates", "pass@8, counting"}, j.Listed("simulated checkpoints", "rank correlation"))
		},
	}
}
