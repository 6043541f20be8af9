package dynamic

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var fp8Rates = []string{"1e-3", "2e-3"}

const fp8Equal = "bf16 rollouts"

// quantized are the rollout engines of fp8-needs-correction: bare, and with the
// correction.
var quantized = []struct {
	dose            claim.Dose
	format          string
	bare, corrected string
}{
	{claim.Natural, "fp8-w8a8", "fp8, uncorrected", "fp8, token TIS"},
	{claim.Amplified, "fp4-all", "fp4, uncorrected", "fp4, token TIS"},
}

func fp8NeedsCorrection() claim.Claim {
	return claim.Claim{
		ID:        "fp8-needs-correction",
		Title:     "Token TIS on fp8 rollouts raises the pass rate",
		Statement: "A bf16 learner that is fed by fp8 rollouts reaches a higher pass rate with token TIS than uncorrected.",
		Source:    "FP8-RL, 2601.18150; FlashRL; AIS, 2605.13907; QaRL, 2604.07853.",
		Figure:    "FP8-RL: a clear drop without TIS, parity with token TIS at C = 2. AIS: ESS/n from above 0.95 to below 0.70. QaRL: +5.5 points over quantised rollout on 30B-A3B",
		Threshold: "Pass rate, token TIS minus uncorrected, mean over two learning rates: above 0, sign-flip p < 0.05.",
		Setup:     "GRPO on chain-base, 120 updates of 8 prompts with 8 responses, learner in bf16; rollouts in fp8 (weights and inputs by channel), amplified in fp4 weights, fp8 inputs, KV cache and head; token TIS with cap 2; learning rates 1e-3 and 2e-3. " + claim.PassRateNote + flowPilot,
		LeftOut:   "int8; a cap of 8; IcePop and MIS; several updates per batch; negatives only, where token TIS does hold runs with fp4 rollouts. Ten replications for the cost: ten runs each.",
		Commands:  []string{"simulate compare fp8-uncorrected fp8-token-tis --seeds 3 --set steps=120 --set rollout.prompts=8"},
		Unit:      claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureFP8,
		Judge:   judgeFP8,
	}
}

func measureFP8(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	arms := []arm{{fp8Equal, []string{"learner.numerics=bf16", "rollout.numerics=bf16"}}}
	for _, q := range quantized {
		set := []string{"learner.numerics=bf16", "rollout.numerics=" + q.format}
		arms = append(arms, arm{q.bare, set}, arm{q.corrected, append([]string{"correction.weights={name: token_tis, cap: 2}"}, set...)})
	}
	o := new(claim.Observation)
	return o, trainInBlocks(ctx, e, o, e.Pick(120, 60, 6), fp8Rates, []string{"gap/ess_token", gapKL}, arms...)
}

func judgeFP8(j *claim.Judge) {
	for _, q := range quantized {
		gain := stats.Differences(j.Late(fp8Rates, q.corrected), j.Late(fp8Rates, q.bare))
		cost := stats.Differences(j.Late(fp8Rates, fp8Equal), j.Late(fp8Rates, q.bare))
		j.Primary(claim.Better(q.dose, "pass rate, token TIS minus uncorrected", gain))
		j.Also(claim.Report(q.dose, "pass rate, bf16 rollouts minus uncorrected", cost))
		j.Also(claim.Above(q.dose, "gain of token TIS minus 0.3 of what the format costs", stats.Differences(gain, stats.Each(cost, func(v float64) float64 { return 0.3 * v })), 0))
		for _, rate := range fp8Rates {
			one := []string{rate}
			j.Also(claim.Report(q.dose, "pass rate, token TIS minus uncorrected, lr "+rate, stats.Differences(j.Late(one, q.corrected), j.Late(one, q.bare))))
		}
		j.Also(claim.FewerCollapses(q.dose, "runs that fall, token TIS against uncorrected", j.Collapses(fp8Rates, q.corrected), j.Collapses(fp8Rates, q.bare)))
		j.Also(claim.Report(q.dose, "effective share of tokens, uncorrected", average(j, fp8Rates, q.bare, "gap/ess_token")))
		j.Also(claim.Report(q.dose, "KL between the engines, uncorrected", average(j, fp8Rates, q.bare, gapKL)))
	}
	j.PassRateBars("Pass rate after training on quantised rollouts", fp8Rates, []string{fp8Equal, quantized[0].bare, quantized[0].corrected, quantized[1].bare, quantized[1].corrected})
}
