package age

import (
	"context"
	"fmt"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var (
	kernelRates  = []string{"3e-4", "6e-4"}
	kernelReuse  = []int{4, 64}
	kernelLosses = []string{"vespo", "sapo"}
)

func kernelVsN() claim.Claim {
	return claim.Claim{
		ID:        "kernel-vs-n",
		Title:     "Going from 4 to 64 updates per batch costs a soft gate more than a variational kernel",
		Statement: "As a batch is cut into 64 updates in place of 4, SAPO loses more pass rate than VESPO.",
		Source:    "VESPO, 2602.10693; SAPO; TRL PR 5199.",
		Figure:    "averages at N = 4, 8, 16, 32, 64: VESPO 70.0, 70.0, 67.3, 64.5, 61.8; SAPO 65.2, 51.7, 50.5, 20.9, 16.5",
		Threshold: "Slope of the pass rate on log2 N, SAPO minus VESPO, mean over two learning rates: interval below 0.",
		Setup: "GRPO on chain-base, equal engines, 768 updates of one prompt with eight responses; N updates are cut from one batch, so that the last is N - 1 updates old; learning rates 3e-4 and 6e-4. " + claim.PassRateNote +
			"The same number of samples and updates in every arm. Looked at with the shipped weights on seed 9001, 1,024 updates: at 3e-4 all of VESPO and SAPO end at 0.95 or more, GSPO at 0.95 and 0.89; at 6e-4 and N = 64 VESPO ends at 0.94, SAPO at 0.62; at 1e-3 VESPO at 0.62 and 0.20, SAPO at 0.23 and 0.02, a rate at which nothing trains. " +
			"3e-4 and 6e-4 were taken, and the runs cut for the cost.",
		LeftOut:  "GSPO, CISPO and GRPO; N of 16; kernels whose log-ratio is divided by the length, which are not implemented; responses of 128 tokens and more.",
		Commands: []string{"simulate train headline --set steps=12 --set rollout.prompts=64 --set learner.minibatches=64 --set loss=sapo --set learner.optimizer.lr=6e-4"},
		Unit:     claim.Run,
		Version:  1,
		Measure:  measureKernel,
		Judge:    judgeKernel,
	}
}

func kernelName(loss string, reuse int) string { return fmt.Sprintf("%s, N = %d", loss, reuse) }

func measureKernel(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	updates := e.Pick(768, 384, 64)
	for _, n := range kernelReuse {
		for _, loss := range kernelLosses {
			for _, rate := range kernelRates {
				err := e.PassRates(ctx, o, claim.AtLR(kernelName(loss, n), rate), updates/n, nil,
					fmt.Sprintf("rollout.prompts=%d", n), fmt.Sprintf("learner.minibatches=%d", n), "loss="+loss, claim.SetLR(rate))
				if err != nil {
					return nil, err
				}
			}
		}
	}
	return o, nil
}

func judgeKernel(j *claim.Judge) {
	slope := func(rates []string, loss string) []float64 {
		return slopes([]float64{2, 6}, [][]float64{j.Late(rates, kernelName(loss, 4)), j.Late(rates, kernelName(loss, 64))})
	}
	j.Primary(claim.Below(claim.Natural, "slope of the pass rate on log2 N, SAPO minus VESPO", stats.Differences(slope(kernelRates, "sapo"), slope(kernelRates, "vespo")), 0))
	for _, loss := range kernelLosses {
		j.Also(claim.Report(claim.Natural, "slope of the pass rate on log2 N, "+loss, slope(kernelRates, loss)))
	}
	for _, rate := range kernelRates {
		one := []string{rate}
		j.Also(claim.Report(claim.Natural, "slope on log2 N, SAPO minus VESPO, lr "+rate, stats.Differences(slope(one, "sapo"), slope(one, "vespo"))))
	}
	j.Also(claim.FewerCollapses(claim.Natural, "runs that fall at N = 64, VESPO against SAPO", j.Collapses(kernelRates, kernelName("vespo", 64)), j.Collapses(kernelRates, kernelName("sapo", 64))))
	j.PassRateBars("Pass rate by updates per batch", kernelRates, []string{"vespo, N = 4", "vespo, N = 64", "sapo, N = 4", "sapo, N = 64"})
}
