package attempts

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
)

// sharedTokens is what a run of hard-prompts may generate: eighty steps of equal groups.
const sharedTokens = 80_000

// focusArms are its arms: whom a step's responses go to, or what is rewarded.
var focusArms = []struct {
	name string
	set  []string
}{
	{"equal groups", []string{"rollout.pool.focus=uniform"}},
	{"knapsack", []string{"rollout.pool.focus=knapsack"}},
	{"upsampling", []string{"rollout.pool.focus=upsample"}},
	{"stages and reuse", []string{"rollout.pool.focus=adaptive"}},
	{"reward pass@4", []string{"rollout.pool.focus=uniform", "reward={name: pass_at_k, k: 4}", "advantage.std=false"}},
	{"reward maximum of four", []string{"rollout.pool.focus=uniform", "reward={name: group_max, k: 4}", "advantage.std=false"}},
}

func hardPrompts() claim.Claim {
	return claim.Claim{
		ID:        "hard-prompts",
		Title:     "On the chain task, where three groups of four have a gradient anyway, larger ones for hard prompts teach more from the same generated tokens (learning rates 5e-4 and 1e-3)",
		Statement: "After as many generated tokens, held-out prompts are solved more often where responses went to the prompts that could use them (a knapsack) than with groups of one size.",
		Source:    "Knapsack RL, 2509.25849; AR3PO, 2509.25808; a practitioner's account of pass@k.",
		Figure:    "Knapsack RL: 20 to 40 % more groups with a gradient, 2 to 4 points in the mean of benchmarks at the same compute; AR3PO: up to 4.2 times fewer responses than DAPO for the same result",
		Threshold: "Pass@1 of held-out prompts after 80,000 generated tokens, knapsack minus equal groups, mean over two learning rates: exact sign-flip test over runs, two-sided, p < 0.05. " +
			"Reported: the same for upsampling, for groups that end when solved and borrow, for pass@4 and the maximum of four as rewards; pass@16 of all; the share of groups with a gradient.",
		Setup: "Recipe knapsack: programs of 5 to 12 operations, a pool of 64 prompts, 8 of them a step, groups of 8 in the mean, one update a step, from warm starts on 3 to 8; learning rates 5e-4 and 1e-3. " +
			"Each run ends with the step by which it has generated 80,000 tokens, so that every arm had the same; all responses are trained. " +
			"Pilot runs on another seed, after the first ten: with difficulties from 1 or from 9 and with groups of 4 the knapsack finds no more groups with a gradient either. 64 held-out prompts of 6 to 12 operations with 16 samples each.",
		LeftOut: "Pools full of prompts that are never or always solved, which is where the published gain lies: here pass rates spread evenly. Costs by prompt in the knapsack: a response counts one. Large pools, where a prompt seldom comes back.",
		Commands: []string{"simulate train knapsack --set max_generated_tokens=80000 --set steps=400",
			"simulate compare knapsack knapsack@uniform knapsack@adaptive --seeds 2 --set max_generated_tokens=10000"},
		Declared:     claim.BeforeResults,
		Unit:         claim.Run,
		Replications: 10,
		Version:      1,
		Measure:      measureHardPrompts,
		Judge:        judgeHardPrompts,
	}
}

func measureHardPrompts(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	tokens := e.Pick(sharedTokens, 10_000, 1_000)
	samples := e.Pick(16, 8, 4)
	for _, arm := range focusArms {
		var one, several, mixed, steps []float64
		for _, lr := range passkLR {
			set := []string{"task={name: chain, difficulty: [5, 12]}", "rollout.max_tokens=40", "rollout.pool.prompts=64", fmt.Sprintf("max_generated_tokens=%d", tokens), claim.SetLR(lr)}
			c, after, err := e.Trained(ctx, []string{"pool/mixed_groups"}, 5*sharedTokens/1000, append(set, arm.set...)...)
			if err != nil {
				return nil, err
			}
			tallies, err := heldOut(ctx, e, after, samples)
			if err != nil {
				return nil, err
			}
			one, several = append(one, passk.Mean(tallies, 1)), append(several, passk.Mean(tallies, samples))
			mixed, steps = append(mixed, stats.Average(c[0])), append(steps, float64(len(c[0])))
		}
		o.Set(arm.name+", pass@1", one...)
		o.Set(arm.name+", pass@16", several...)
		o.Set(arm.name+", groups with a gradient", mixed...)
		o.Set(arm.name+", steps", steps...)
	}
	return o, nil
}

func judgeHardPrompts(j *claim.Judge) {
	minusEqual := func(arm, what string) []float64 {
		mean := func(arm string) []float64 {
			return j.Each(func(o *claim.Observation) float64 { return stats.Average(o.List(arm + what)) })
		}
		return stats.Differences(mean(arm), mean(focusArms[0].name))
	}
	j.Primary(claim.Better(claim.Natural, "pass@1, knapsack minus equal groups", minusEqual(focusArms[1].name, ", pass@1")))
	for _, arm := range focusArms[2:] {
		j.Secondary(claim.Better(claim.Natural, "pass@1, "+arm.name+" minus equal groups", minusEqual(arm.name, ", pass@1")))
	}
	for _, arm := range focusArms[1:] {
		j.Secondary(claim.Better(claim.Natural, "pass@16, "+arm.name+" minus equal groups", minusEqual(arm.name, ", pass@16")))
	}
	j.Secondary(claim.Better(claim.Natural, "share of groups with a gradient, knapsack minus equal groups", minusEqual(focusArms[1].name, ", groups with a gradient")))
	rates := []string{"lr " + passkLR[0], "lr " + passkLR[1]}
	var groups []claim.Group
	var columns []string
	for _, arm := range focusArms {
		groups = append(groups, j.Listed(arm.name, arm.name+", pass@1"))
		columns = append(columns, arm.name+", pass@1", arm.name+", pass@16", arm.name+", groups with a gradient", arm.name+", steps")
	}
	j.Evidence.Picture = j.Bars("Held-out prompts solved after 80,000 generated tokens", "pass@1 of harder held-out prompts", false, rates, groups...)
	j.Evidence.Table = j.NamedTable("After the same generated tokens", "learning rate", rates, columns...)
}
