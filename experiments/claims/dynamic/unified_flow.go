package dynamic

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var flowRates = []string{"1e-3", "2e-3"}

// flows are the rollout engines of unified-flow: the learner computes as they do,
// or in bf16.
var flows = []struct {
	dose           claim.Dose
	format         string
	unified, split string
}{
	{claim.Natural, "fp8-w8a8", "fp8, both", "fp8, rollouts only"},
	{claim.Amplified, "fp4-all", "fp4, both", "fp4, rollouts only"},
}

const flowPrecise = "bf16, both"

func unifiedFlow() claim.Claim {
	return claim.Claim{
		ID:        "unified-flow",
		Title:     "A learner that computes in the rollouts' fp8 reaches a higher pass rate than one in bf16",
		Statement: "With fp8 rollouts of at most 32 tokens, a learner whose forward pass is the same fp8 flow reaches a higher pass rate, sampled in fp8, than a learner in bf16.",
		Source:    "Jet-RL, 2601.14243; QaRL, 2604.07853.",
		Figure:    "split precision degrades past 8K tokens and collapses at 16K (8B base after about 20 steps); unified stays within about 1 %",
		Threshold: "Pass rate in the rollout engine, unified minus split, mean over two learning rates: above 0, sign-flip p < 0.05.",
		Setup: "GRPO on chain-base, uncorrected, 120 updates of 8 prompts with 8 responses; fp8 weights and inputs by channel, amplified fp4 weights with fp8 inputs, KV cache and head, gradients straight through; learning rates 1e-3 and 2e-3. " +
			"Judged is the mean pass rate in the rollout engine, which is the same in both arms, on 128 held-out prompts over the last three of six evaluations. " + flowPilot,
		LeftOut:  "Lengths of 64 to 1,024 tokens and the interaction with length, which is where the paper's collapse is; the speed. Ten replications for the cost: ten runs each.",
		Commands: []string{"simulate train headline --set rollout.numerics=fp4-all --set learner.numerics=fp4-all --set learner.optimizer.lr=2e-3", "simulate train jet-rl"},
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureFlow,
		Judge:   judgeFlow,
	}
}

func measureFlow(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	arms := []arm{{flowPrecise, []string{"learner.numerics=bf16", "rollout.numerics=bf16"}}}
	for _, f := range flows {
		rollout := "rollout.numerics=" + f.format
		arms = append(arms, arm{f.unified, []string{rollout, "learner.numerics=" + f.format}}, arm{f.split, []string{rollout, "learner.numerics=bf16"}})
	}
	o := new(claim.Observation)
	return o, trainInBlocks(ctx, e, o, e.Pick(120, 60, 6), flowRates, []string{sampledRate, gapKL}, arms...)
}

func judgeFlow(j *claim.Judge) {
	sampled := func(rates []string, arm string) []float64 { return j.OverRates(rates, arm, lateSampled) }
	bars := []string{flowPrecise}
	for _, f := range flows {
		j.Primary(claim.Better(f.dose, "pass rate, unified minus split", stats.Differences(sampled(flowRates, f.unified), sampled(flowRates, f.split))))
		for _, rate := range flowRates {
			one := []string{rate}
			j.Also(claim.Report(f.dose, "pass rate, unified minus split, lr "+rate, stats.Differences(sampled(one, f.unified), sampled(one, f.split))))
		}
		j.Also(claim.Report(f.dose, "pass rate, bf16 on both sides minus unified", stats.Differences(sampled(flowRates, flowPrecise), sampled(flowRates, f.unified))))
		j.Also(claim.Report(f.dose, "pass rate, each in its learner's engine, unified minus split", stats.Differences(j.Late(flowRates, f.unified), j.Late(flowRates, f.split))))
		j.Also(claim.FewerCollapses(f.dose, "runs that fall in the learner's engine, unified against split", j.Collapses(flowRates, f.unified), j.Collapses(flowRates, f.split)))
		j.Also(claim.Report(f.dose, "KL between the engines, split", average(j, flowRates, f.split, gapKL)))
		j.Also(claim.Zero(f.dose, "KL between the engines, unified", average(j, flowRates, f.unified, gapKL)))
		bars = append(bars, f.unified, f.split)
	}
	var groups []claim.Group
	for _, rate := range flowRates {
		groups = append(groups, claim.Group{Name: "lr " + rate, Values: func(k int) []float64 { return sampled([]string{rate}, bars[k]) }})
	}
	j.Evidence.Picture = j.Bars("Pass rate in the rollout engine", "pass rate", false, bars, groups...)
}
