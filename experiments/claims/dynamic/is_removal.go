package dynamic

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var removalRates = []string{"5e-4", "1e-3"}

const (
	removalWhole, removalWithout, removalNormed = "engine weight", "without", "engine weight, 1/T"
	removalEntropy                              = "actor/entropy"
)

// removalDoses are the rollout engines: two that are judged, and the second one
// where positives are not learned, which is reported.
var removalDoses = []struct {
	dose   claim.Dose
	name   string
	set    []string
	judged bool
}{
	{claim.Natural, "fp8", []string{"rollout.numerics=fp8-w8a8"}, true},
	{claim.Amplified, "fp4", []string{"rollout.numerics=fp4-all"}, true},
	{claim.Amplified, "fp4, negatives only", []string{"rollout.numerics=fp4-all", "advantage.positive_weight=0"}, false},
}

// removalArms are those of a dose: the objective, without its engine weight, and
// with a mean over the tokens of a response in place of the sum.
func removalArms(dose string, set []string, judged bool) []arm {
	const weight = "correction.weights={name: token_tis, cap: 5}"
	of := func(aggregation string, more ...string) []string {
		return append(append([]string{"advantage.std=false", "loss.aggregation=" + aggregation}, more...), set...)
	}
	arms := []arm{
		{dose + ", " + removalWhole, of("seq-mean-token-sum", weight)},
		{dose + ", " + removalWithout, of("seq-mean-token-sum")},
	}
	if judged {
		arms = append(arms, arm{dose + ", " + removalNormed, of("seq-mean-token-mean", weight)})
	}
	return arms
}

func isRemoval() claim.Claim {
	return claim.Claim{
		ID:        "is-removal",
		Title:     "Dropping the engine weight lowers the pass rate of a mixture of experts trained on quantised rollouts",
		Statement: "An objective that weighs every token by learner over rollout engine ends at a higher pass rate than the same objective without that weight.",
		Source:    "Stabilizing RL, 2512.01374.",
		Figure:    "30B-A3B, fp8 inference: rapid collapse with a drop of the entropy without the weight; a factor 1/T costs reward without collapse",
		Threshold: "Pass rate, with the engine weight minus without, mean over two learning rates: above 0, sign-flip p < 0.05. " +
			"Beside it: runs that fall, entropy, and what a mean over the tokens of a response costs.",
		Setup: "On chain-base (eight experts, two a token), 96 updates of 8 prompts with 8 responses, one per batch, fp32 learner; advantages are centred and not scaled, the loss sums over the tokens of a response; the engine weight is the token ratio, cut at 5; learning rates 5e-4 and 1e-3. " +
			"Natural: fp8-w8a8 rollouts. Amplified: fp4 weights, fp8 inputs, KV cache and head. Beside them, and judged by nothing, fp4 rollouts where responses with a positive advantage are not learned from. " + claim.PassRateNote +
			"Looked at: one replication of seed 9001; nothing was changed after it. That engine mismatch under ordinary weighting ends no run at these rates, and does with negatives only, was known from earlier work on other seeds; the doses are the formats all the same.",
		LeftOut:  "Several updates per batch; long training; the level that different cold starts reach. Ten replications for the cost: sixteen runs each.",
		Commands: []string{`simulate train headline --set steps=96 --set rollout.numerics=fp8-w8a8 --set advantage.std=false --set loss.aggregation=seq-mean-token-sum --set "correction.weights={name: token_tis, cap: 5}"`},
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureRemoval,
		Judge:   judgeRemoval,
	}
}

func measureRemoval(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	for _, d := range removalDoses {
		if err := train(ctx, e, o, e.Pick(96, 48, 6), removalRates, []string{removalEntropy}, removalArms(d.name, d.set, d.judged)...); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func judgeRemoval(j *claim.Judge) {
	var shown []string
	for _, d := range removalDoses {
		whole, without := d.name+", "+removalWhole, d.name+", "+removalWithout
		gain := stats.Differences(j.Late(removalRates, whole), j.Late(removalRates, without))
		if d.judged {
			j.Primary(claim.Better(d.dose, "pass rate, with the engine weight minus without, "+d.name, gain))
		} else {
			j.Also(claim.Report(d.dose, "pass rate, with the engine weight minus without, "+d.name, gain))
		}
		for _, rate := range removalRates {
			one := []string{rate}
			j.Also(claim.Report(d.dose, "the same at lr "+rate+", "+d.name, stats.Differences(j.Late(one, whole), j.Late(one, without))))
		}
		j.Also(claim.FewerCollapses(d.dose, "runs that fall, with against without, "+d.name, j.Collapses(removalRates, whole), j.Collapses(removalRates, without)))
		j.Also(claim.ReportRatio(d.dose, "entropy, without over with, "+d.name, average(j, removalRates, without, removalEntropy), average(j, removalRates, whole, removalEntropy)))
		shown = append(shown, whole, without)
		if d.judged {
			normed := d.name + ", " + removalNormed
			j.Also(claim.Report(d.dose, "pass rate, 1/T minus sum, "+d.name, stats.Differences(j.Late(removalRates, normed), j.Late(removalRates, whole))))
			shown = append(shown, normed)
		}
	}
	j.PassRateBars("Pass rate with and without the engine weight", removalRates, shown)
}
