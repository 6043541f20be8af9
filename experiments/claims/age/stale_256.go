package age

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

var staleRates = []string{"2e-4", "4e-4"}

const (
	staleClip, staleM2PO, staleFree = "clip", "M2PO", "no trust region"
	staleFresh                      = "on-policy, clip"
)

// staleArms are the objectives; the last one is without a lag.
var staleArms = []struct {
	name string
	set  []string
}{
	{staleClip, []string{staleLag, "correction.mode=bypass"}},
	{staleM2PO, []string{staleLag, "correction.mode=bypass", "loss=m2po"}},
	{staleFree, []string{staleLag, "correction.mode=bypass", "loss=importance_sampling"}},
	{staleFresh, nil},
}

const staleLag = "schedule={name: lag, k: 256}"

func stale256() claim.Claim {
	return claim.Claim{
		ID:        "stale-256",
		Title:     "On data 256 updates old, a bound on the second moment learns more than a clip",
		Statement: "Trained on rollouts that are 256 updates old, M2PO reaches a higher pass rate than PPO's clip against the sampler.",
		Source:    "M2PO, 2510.01161; OAPL, 2602.19362.",
		Figure:    "256 updates stale: M2PO trains as well as on-policy, share of clipped tokens 1.22 % to 0.06 %; without a trust region 'prosperity before collapse'",
		Threshold: "Pass rate, M2PO minus clip, mean over two learning rates: above 0, sign-flip p < 0.05.",
		Setup: "GRPO on chain-base, equal engines, eight updates of one prompt with eight responses per batch, 78 batches: 624 updates, rollouts by the weights of 256 updates ago; clip 0.2 to 0.28, M2PO's budget 0.04, no trust region is the plain token ratio, all against the recorded log-probs; learning rates 2e-4 and 4e-4. " + claim.PassRateNote +
			"Looked at with the shipped weights on seed 9001: at 2e-4 the clip ends at 0.78, M2PO at 0.88, no trust region at 0.88; at 4e-4 0.81, 0.86, 0.22; on-policy at 2e-4 0.88. OAPL with beta 0.1 ended at 0.22 at 2e-4 and is left out. Nothing was changed.",
		LeftOut:  "OAPL; lags of 16, 64 and 400. A lag of 256 updates is less far in nats than at 32B: the k3 between sampler and learner is reported.",
		Commands: []string{`simulate train headline --set steps=78 --set learner.minibatches=8 --set "schedule={name: lag, k: 256}" --set correction.mode=bypass --set loss=m2po --set learner.optimizer.lr=2e-4`},
		Unit:     claim.Run,
		Version:  1,
		Measure:  measureStale,
		Judge:    judgeStale,
	}
}

func measureStale(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := e.Pick(78, 12, 6)
	for _, a := range staleArms {
		columns := []string{"gap/k3"}
		if a.name == staleClip || a.name == staleM2PO {
			columns = append(columns, "actor/pg_clipfrac")
		}
		for _, rate := range staleRates {
			if err := e.PassRates(ctx, o, claim.AtLR(a.name, rate), steps, columns, append([]string{"learner.minibatches=8", claim.SetLR(rate)}, a.set...)...); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

func judgeStale(j *claim.Judge) {
	of := func(arm string) []float64 { return j.Late(staleRates, arm) }
	j.Primary(claim.Better(claim.Natural, "pass rate, M2PO minus clip", stats.Differences(of(staleM2PO), of(staleClip))))
	for _, rate := range staleRates {
		one := func(arm string) []float64 { return j.Late([]string{rate}, arm) }
		j.Also(claim.Report(claim.Natural, "pass rate, M2PO minus clip, lr "+rate, stats.Differences(one(staleM2PO), one(staleClip))))
		j.Also(claim.Report(claim.Natural, "pass rate, on-policy minus M2PO, lr "+rate, stats.Differences(one(staleFresh), one(staleM2PO))))
		average := func(arm, column string) []float64 {
			return j.Each(func(o *claim.Observation) float64 {
				return stats.Average(o.List(claim.Beside(claim.AtLR(arm, rate), column)))
			})
		}
		j.Also(claim.ReportRatio(claim.Natural, "share of clipped tokens, clip over M2PO, lr "+rate, average(staleClip, "actor/pg_clipfrac"), average(staleM2PO, "actor/pg_clipfrac")))
		j.Also(claim.Report(claim.Natural, "k3 between sampler and learner under M2PO, lr "+rate, average(staleM2PO, "gap/k3")))
	}
	j.Also(claim.FewerCollapses(claim.Natural, "runs that fall, M2PO against no trust region", j.Collapses(staleRates, staleM2PO), j.Collapses(staleRates, staleFree)))
	j.PassRateBars("Pass rate after training on data 256 updates old", staleRates, []string{staleClip, staleM2PO, staleFree, staleFresh})
}
