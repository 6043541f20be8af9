package age

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var (
	replayRates = []string{"4e-4", "7e-4"}
	replayReuse = []int{1, 8}
	replayModes = []string{"none", "r2", "r3"}
)

// replayDoses are the rollout engines.
var replayDoses = []struct {
	dose claim.Dose
	set  string
}{
	{claim.Natural, "rollout.numerics=fp8-w8a8"},
	{claim.Amplified, "rollout.numerics={base: bf16, router: fp4_e2m1}"},
}

func r2VsR3() claim.Claim {
	return claim.Claim{
		ID:        "r2-vs-r3",
		Title:     "Reuse of a batch moves the balance from replay of the learner's routes to that of the rollout's",
		Statement: "R3 minus R2, in pass rate, is larger with eight updates per batch than with one.",
		Source:    "Stabilizing RL, 2512.01374.",
		Figure:    "30B, fp8 inference: no gain from replay at N = 1; R2 ahead at 2; R3 ahead at 4 and 8, where R2 does not hold",
		Threshold: "(R3 minus R2 at N = 8) minus (R3 minus R2 at N = 1), pass rate, mean over two learning rates: above 0, sign-flip p < 0.05.",
		Setup: "GRPO with PPO's clip on chain-base, fp32 learner, 96 updates of four prompts with eight responses; N updates are cut from one batch. Natural: fp8-w8a8 rollouts. Amplified: bf16 rollouts with a 4-bit router. " +
			"At N = 1 replay of the learner's own routes changes nothing, and R2 is the run without replay. Learning rates 4e-4 and 7e-4. " + claim.PassRateNote +
			"Looked at with the shipped weights on seed 9001, amplified, 160 updates: at 4e-4 none and R3 end at 0.77 and 0.64 with N = 1, none, R2 and R3 at 0.66, 0.70 and 0.56 with N = 8; at 1e-3 0.33 and 0.33, and 0.50, 0.31 and 0.09, a rate at which nothing trains, so that 7e-4 took its place unseen.",
		LeftOut:  "N of 2 and 4; the arms without a clip; long training.",
		Commands: []string{`simulate train headline --set steps=12 --set rollout.prompts=32 --set learner.minibatches=8 --set rollout.numerics=fp8-w8a8 --set routing.replay=r3 --set learner.optimizer.lr=7e-4`},
		Unit:     claim.Run,
		Version:  1,
		Measure:  measureReplay,
		Judge:    judgeReplay,
	}
}

func replayName(d claim.Dose, mode string, reuse int) string {
	if reuse == 1 && mode == "r2" {
		mode = "none"
	}
	return fmt.Sprintf("%s %s, N = %d", d, mode, reuse)
}

func measureReplay(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	updates := e.Pick(96, 48, 16)
	for _, d := range replayDoses {
		for _, n := range replayReuse {
			for _, mode := range replayModes {
				for _, rate := range replayRates {
					name := claim.AtLR(replayName(d.dose, mode, n), rate)
					if o.Has(name) {
						continue
					}
					err := e.PassRates(ctx, o, name, updates/n, nil, fmt.Sprintf("rollout.prompts=%d", 4*n), fmt.Sprintf("learner.minibatches=%d", n),
						"routing.replay="+mode, d.set, claim.SetLR(rate))
					if err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return o, nil
}

func judgeReplay(j *claim.Judge) {
	for _, d := range replayDoses {
		of := func(mode string, n int) []float64 { return j.Late(replayRates, replayName(d.dose, mode, n)) }
		gain := func(n int) []float64 { return stats.Differences(of("r3", n), of("r2", n)) }
		j.Primary(claim.Better(d.dose, "R3 minus R2 at N = 8, minus the same at N = 1, pass rate", stats.Differences(gain(8), gain(1))))
		for _, n := range replayReuse {
			j.Also(claim.Report(d.dose, fmt.Sprintf("R3 minus R2 at N = %d", n), gain(n)))
			j.Also(claim.Report(d.dose, fmt.Sprintf("R3 minus none at N = %d", n), stats.Differences(of("r3", n), of("none", n))))
		}
		j.Also(claim.Report(d.dose, "R2 minus none at N = 8", stats.Differences(of("r2", 8), of("none", 8))))
	}
	d := claim.Amplified
	j.PassRateBars("Pass rate by updates per batch and replay, 4-bit router", replayRates, []string{replayName(d, "none", 1), replayName(d, "r3", 1), replayName(d, "none", 8), replayName(d, "r2", 8), replayName(d, "r3", 8)})
}
