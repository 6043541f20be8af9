package attempts

import (
	"context"
	"slices"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// Attempts of passk-reward: the judged pass@k, and the samples per prompt.
const (
	rewardedK    = 4
	farK         = 64
	rewardRates  = 2
	hardPrograms = "task={name: chain, difficulty: [5, 10]}"
)

// passkRewards are the arms. Without the division by the group's deviation, which
// would undo what the reward for several attempts says.
var passkRewards = []struct{ name, set string }{
	{"reward pass@1", "reward=exact"},
	{"reward pass@4", "reward={name: pass_at_k, k: 4}"},
	{"reward maximum of four", "reward={name: group_max, k: 4}"},
}

// passkLR are the learning rates.
var passkLR = [rewardRates]string{"5e-4", "1e-3"}

func passkReward() claim.Claim {
	return claim.Claim{
		ID:        "passk-reward",
		Title:     "On chain programs of 6 to 12 operations, training on pass@4 gives a higher pass@64 than training on pass@1 (learning rates 5e-4 and 1e-3)",
		Statement: "After the same updates, a policy trained on pass@4 solves more held-out prompts within 64 attempts than one trained on pass@1.",
		Source:    "Pass@k training, 2508.10751; PKPO, 2505.15201; a practitioner's account of pass@k.",
		Figure:    "the weight k(1-p)^(k-1) favours hard prompts; training must end with pass@1, and costs more computing for the same pass@1",
		Threshold: "Pass@64 after 80 updates, reward pass@4 minus reward pass@1, mean over two learning rates: exact sign-flip test over runs, two-sided, p < 0.05. " +
			"Reported: the same for pass@1, for the maximum of groups of four, and the mean pass@1 of five evaluations on the way.",
		Setup: "GRPO without division by the group's deviation on programs of 5 to 10 operations, from warm starts on 3 to 8; learning rates 5e-4 and 1e-3; 64 held-out prompts of 6 to 12 operations with 64 samples each. " +
			"With that division the reward for pass@4 has the very advantages of the plain one: a group has two rewards.",
		LeftOut: "Pass@k first and pass@1 afterwards; the number of different right answers: a program has one.",
		Commands: []string{"simulate train headline --set 'reward={name: pass_at_k, k: 4}' --set advantage.std=false --set task.difficulty=[5,10]",
			"simulate evaluate runs/first --set task.difficulty=[6,12] --samples 64 --k 1,64"},
		Declared:     claim.BeforeResults,
		Unit:         claim.Run,
		Replications: 10,
		Version:      1,
		Measure:      measurePasskReward,
		Judge:        judgePasskReward,
	}
}

func measurePasskReward(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps, samples := e.Pick(80, 20, 2), e.Pick(farK, 16, 4)
	for _, arm := range passkRewards {
		var one, far, way []float64
		for _, lr := range passkLR {
			c, after, err := e.Trained(ctx, []string{"val/learner/pass_rate"}, steps, hardPrograms, "advantage.std=false", arm.set, claim.SetLR(lr), "eval.every=20")
			if err != nil {
				return nil, err
			}
			tallies, err := heldOut(ctx, e, after, samples)
			if err != nil {
				return nil, err
			}
			one, far, way = append(one, passk.Mean(tallies, 1)), append(far, passk.Mean(tallies, samples)), append(way, stats.Average(c[0]))
		}
		o.Set(arm.name+", pass@1", one...)
		o.Set(arm.name+", pass@64", far...)
		o.Set(arm.name+", on the way", way...)
	}
	return o, nil
}

// heldOut tallies the responses of weights to 64 held-out prompts that are harder than
// those trained.
func heldOut(ctx context.Context, e *claim.Env, p *model.Params, samples int) ([]passk.Tally, error) {
	r, err := recipe.Load("default", "task={name: chain, difficulty: [6, 12]}")
	if err != nil {
		return nil, err
	}
	r.Seed = e.Seed
	all, err := trainer.Evaluate(ctx, p, r, trainer.Attempts{Prompts: e.Pick(64, 16, 2), Samples: samples}, trainer.Options{Cores: e.Cores})
	if err != nil {
		return nil, err
	}
	var tallies []passk.Tally
	for _, p := range all.Prompts {
		tallies = append(tallies, p.Tally)
	}
	return tallies, nil
}

func judgePasskReward(j *claim.Judge) {
	against := func(arm, what string) []float64 {
		mean := func(arm string) []float64 {
			return j.Each(func(o *claim.Observation) float64 { return stats.Average(o.List(arm + what)) })
		}
		return stats.Differences(mean(arm), mean(passkRewards[0].name))
	}
	few, most := passkRewards[1].name, passkRewards[2].name
	j.PrimaryOver(passkLR[:], func(rates []string) claim.Check {
		far := func(arm string) []float64 {
			return j.Each(func(o *claim.Observation) (mean float64) {
				for _, rate := range rates {
					mean += o.List(arm + ", pass@64")[slices.Index(passkLR[:], rate)] / float64(len(rates))
				}
				return mean
			})
		}
		return claim.Better(claim.Natural, "pass@64, reward pass@4 minus pass@1", stats.Differences(far(few), far(passkRewards[0].name)))
	})
	j.Secondary(claim.Better(claim.Natural, "pass@1, reward pass@4 minus pass@1", against(few, ", pass@1")))
	j.Secondary(claim.Better(claim.Natural, "pass@64, group maximum minus pass@1", against(most, ", pass@64")))
	j.Secondary(claim.Better(claim.Natural, "pass@1, group maximum minus pass@1", against(most, ", pass@1")))
	j.Secondary(claim.Better(claim.Natural, "pass rate on the way, reward pass@4 minus pass@1", against(few, ", on the way")))
	rates := []string{"lr " + passkLR[0], "lr " + passkLR[1]}
	var groups []claim.Group
	var columns []string
	for _, arm := range passkRewards {
		groups = append(groups, j.Listed(arm.name, arm.name+", pass@64"))
		columns = append(columns, arm.name+", pass@1", arm.name+", pass@64", arm.name+", on the way")
	}
	j.Evidence.Picture = j.Bars("Prompts solved within 64 attempts, by what was rewarded", "pass@64 of harder held-out prompts", false, rates, groups...)
	j.Evidence.Table = j.NamedTable("After training", "learning rate", rates, columns...)
}
