package dynamic

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var zeroRates = []string{"1e-3", "2e-3"}

const zeroNone = "no gap"

// gaps are the rollout engines of zero-gap-reward beside a bf16 learner, by
// their distance from it.
var gaps = []struct {
	dose                  claim.Dose
	format                string
	uncorrected, repaired string // the former is left out where it is empty
}{
	{claim.Natural, "bf16-tp4", "", "bf16 on four ranks, token TIS"},
	{claim.Amplified, "fp4-all", "fp4, uncorrected", "fp4, token TIS"},
}

func zeroGapReward() claim.Claim {
	return claim.Claim{
		ID:        "zero-gap-reward",
		Title:     "Two bf16 engines of equal bits train to a higher pass rate than a gap with token TIS",
		Statement: "A bf16 learner and a rollout engine with the same bits reach a higher pass rate than the same learner with a rollout engine that differs and is corrected by token TIS.",
		Source:    "VeXact, 2605.14220; vLLM and TorchTitan; Fireworks. Against: Miles and SGLang.",
		Figure:    "VeXact 1.7B: steady 0.93 against 0.87 falling to 0.40 in 650 updates; MoE 30B 0.753 against 0.255; 2.4 times slower. Miles and SGLang found no open recipe that collapses on one node",
		Threshold: "Pass rate, no gap minus corrected gap, mean over two learning rates: above 0, sign-flip p < 0.05.",
		Setup: "GRPO on chain-base, 120 updates of 8 prompts with 8 responses, learner in bf16; rollouts in bf16 on four tensor-parallel ranks, amplified in fp4 weights with fp8 inputs, KV cache and head; token TIS with cap 2; learning rates 1e-3 and 2e-3. " + claim.PassRateNote +
			flowPilot + "The same pilot chose the rates of fp8-needs-correction and unified-flow.",
		LeftOut:  "The slowdown of engines with equal bits; several updates per batch; other corrections; accumulators of few bits. Ten replications for the cost: eight runs each.",
		Commands: []string{"simulate train headline --set learner.numerics=bf16 --set rollout.numerics=fp4-all --set correction.weights=token_tis --set learner.optimizer.lr=2e-3"},
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureZeroGap,
		Judge:   judgeZeroGap,
	}
}

func measureZeroGap(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	bf16 := "learner.numerics=bf16"
	arms := []arm{{zeroNone, []string{bf16, "rollout.numerics=bf16"}}}
	for _, g := range gaps {
		set := []string{bf16, "rollout.numerics=" + g.format}
		arms = append(arms, arm{g.repaired, append([]string{"correction.weights={name: token_tis, cap: 2}"}, set...)})
		if g.uncorrected != "" {
			arms = append(arms, arm{g.uncorrected, set})
		}
	}
	o := new(claim.Observation)
	return o, trainInBlocks(ctx, e, o, e.Pick(120, 60, 6), zeroRates, []string{gapKL}, arms...)
}

func judgeZeroGap(j *claim.Judge) {
	against := func(rates []string, arm string) []float64 {
		return stats.Differences(j.Late(rates, zeroNone), j.Late(rates, arm))
	}
	bars := []string{zeroNone}
	for _, g := range gaps {
		j.Primary(claim.Better(g.dose, "pass rate, no gap minus corrected gap", against(zeroRates, g.repaired)))
		for _, rate := range zeroRates {
			j.Also(claim.Report(g.dose, "pass rate, no gap minus corrected gap, lr "+rate, against([]string{rate}, g.repaired)))
		}
		j.Also(claim.FewerCollapses(g.dose, "runs that fall, no gap against corrected gap", j.Collapses(zeroRates, zeroNone), j.Collapses(zeroRates, g.repaired)))
		j.Also(claim.Report(g.dose, "KL between the engines, corrected", average(j, zeroRates, g.repaired, gapKL)))
		bars = append(bars, g.repaired)
		if g.uncorrected != "" {
			j.Also(claim.Report(g.dose, "pass rate, no gap minus uncorrected gap", against(zeroRates, g.uncorrected)))
			j.Also(claim.FewerCollapses(g.dose, "runs that fall, no gap against uncorrected gap", j.Collapses(zeroRates, zeroNone), j.Collapses(zeroRates, g.uncorrected)))
			bars = append(bars, g.uncorrected)
		}
	}
	j.Also(claim.Same(claim.Natural, "no gap and corrected gap are the same, by half of the amplified difference", against(zeroRates, gaps[0].repaired), against(zeroRates, gaps[1].repaired)))
	j.PassRateBars("Pass rate after training with and without a gap", zeroRates, bars)
}
