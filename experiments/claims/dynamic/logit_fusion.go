package dynamic

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var fusionRates = []string{"5e-4", "7e-4"}

const (
	fusionFree, fusionBoth       = "merged, cap alone", "merged, cap and floor"
	fusionStudent, fusionTwofold = "learner's ratio", "decoupled"
	fusionClip, fusionFloor      = "actor/pg_clipfrac", "actor/pg_clipfrac_floor"
	fusionLength                 = "response_length/mean"
)

// fusionResponses is how many a batch has.
const fusionResponses = 64

// fusionLevels are pairs of engines and staleness.
var fusionLevels = []struct {
	level claim.Level
	name  string
	set   []string
	all   bool // with the forms that are not merged
}{
	{claim.Natural, "fp8, lag 8", []string{"rollout.numerics=fp8-w8a8", "schedule={name: lag, k: 8}"}, true},
	{claim.Amplified, "fp4, lag 16", []string{"rollout.numerics=fp4-all", "schedule={name: lag, k: 16}"}, false},
}

func logitFusion() claim.Claim {
	return claim.Claim{
		ID:        "logit-fusion",
		Title:     "One weight for engine mismatch and staleness learns more with a cap alone than with a floor as well",
		Statement: "Where the ratio of the learner to the sampler contains both the engine mismatch and the staleness, a cap at 3 without a floor ends at a higher pass rate than a cap at 3 with a floor at 1/3.",
		Source:    "Logit Fusion, by a survey.",
		Figure:    "cap 3; the low side fires far more often than the high one; no clip with a decaying mixture is best",
		Threshold: "Pass rate, cap alone minus cap and floor, mean over two learning rates: above 0, sign-flip p < 0.05. " +
			"Also checked: tokens below the floor over tokens above the cap, at least 2, by pooled counts; at the natural level cap alone minus the learner's own ratio, and minus the decoupled form.",
		Setup: "GRPO on chain-base, fp32 learner, 114 updates of 8 prompts with 8 responses; merged is the ratio of the learner to the rollout that was sampled, through both gaps, the learner's ratio compares with the weights before the update, decoupled is the engine ratio cut at 3, times PPO's clip of the staleness ratio. " +
			"A cap or floor cuts the gradient of a token beyond it, whatever its advantage. Natural: fp8-w8a8 rollouts by the weights of 8 updates ago. Amplified: fp4 weights, fp8 inputs, KV cache and head, 16 updates ago. Learning rates 5e-4 and 7e-4. " + claim.PassRateNote +
			"Pilot runs: one replication of seed 9001, 120 updates and all forms at both levels; updates and the unmerged forms at the amplified level were cut to save compute, nothing else was changed.",
		LeftOut:  "Rollouts from the mixture of a teacher's and the learner's logits, and its weight alpha: the sampler here is the learner in another format and with another staleness. Ten replications to save compute: twelve runs each.",
		Commands: []string{`simulate train headline --set steps=114 --set rollout.numerics=fp8-w8a8 --set "schedule={name: lag, k: 8}" --set "loss={name: logit_fusion, cap: 3, floor: 0.3333333333333333}" --set learner.optimizer.lr=7e-4`},
		Unit:     claim.Run, Replications: claim.LeastReplications,
		Version: 1,
		Measure: measureFusion,
		Judge:   judgeFusion,
	}
}

func measureFusion(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	for _, d := range fusionLevels {
		with := func(name, loss string, columns ...string) claim.Arm {
			return claim.Arm{Name: d.name + ", " + name, Set: append([]string{"loss=" + loss}, d.set...), Columns: columns}
		}
		arms := []claim.Arm{
			with(fusionBoth, "{name: logit_fusion, cap: 3, floor: 0.3333333333333333}", fusionClip, fusionFloor, fusionLength),
			with(fusionFree, "{name: logit_fusion, cap: 3}"),
		}
		if d.all {
			arms = append(arms, with(fusionStudent, "{name: logit_fusion, ratio: student, cap: 3}"), with(fusionTwofold, "{name: logit_fusion, ratio: decoupled, cap: 3}"))
		}
		if err := e.TrainArms(ctx, o, claim.Training{Steps: []int{114, 60, 6}, Rates: fusionRates, Arms: arms}); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func judgeFusion(j *claim.Judge) {
	var shown []string
	for _, d := range fusionLevels {
		of := func(rates []string, name string) []float64 { return j.Late(rates, d.name+", "+name) }
		j.Primary(claim.Better(d.level, "pass rate, cap alone minus cap and floor, "+d.name, stats.Differences(of(fusionRates, fusionFree), of(fusionRates, fusionBoth))))
		low, high, all := beyond(j, d.name+", "+fusionBoth)
		j.Secondary(claim.Rates(d.level, "tokens below the floor over tokens above the cap, "+d.name, low, all, high, all, 2))
		j.Secondary(claim.Report(d.level, "share of tokens below the floor, "+d.name, stats.Quotients(low, all)))
		shown = append(shown, d.name+", "+fusionFree, d.name+", "+fusionBoth)
		for _, other := range []string{fusionStudent, fusionTwofold} {
			if d.all {
				j.Secondary(claim.Better(d.level, "pass rate, merged with a cap alone minus "+other+", "+d.name, stats.Differences(of(fusionRates, fusionFree), of(fusionRates, other))))
				shown = append(shown, d.name+", "+other)
			}
		}
		for _, rate := range fusionRates {
			one := []string{rate}
			j.Secondary(claim.Report(d.level, "pass rate, cap alone minus cap and floor, lr "+rate+", "+d.name, stats.Differences(of(one, fusionFree), of(one, fusionBoth))))
		}
	}
	j.PassRateBars("Pass rate by the form of the ratio", fusionRates, shown)
}

// beyond counts an arm's tokens below the floor, above the cap, and all of them,
// over its learning rates.
func beyond(j *claim.Judge, arm string) (low, high, all []float64) {
	for _, o := range j.Runs {
		var below, above, tokens float64
		for _, rate := range fusionRates {
			name := claim.AtLR(arm, rate)
			clipped, floor := o.List(claim.ArmColumn(name, fusionClip)), o.List(claim.ArmColumn(name, fusionFloor))
			for i, length := range o.List(claim.ArmColumn(name, fusionLength)) {
				n := math.Round(float64(length * fusionResponses))
				b := math.Round(float64(floor[i] * n))
				below, tokens = below+b, tokens+n
				above += math.Round(float64(clipped[i]*n)) - b
			}
		}
		low, high, all = append(low, below), append(high, above), append(all, tokens)
	}
	return low, high, all
}
