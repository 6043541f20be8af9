package age

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"driftlab/experiments/claims/claim"
	"driftlab/results/record"
	"driftlab/results/stats"
)

var vcpoRates = []string{"7e-4", "1e-3"}

const (
	vcpoPlain, vcpoScaled, vcpoMatched = "TIS", "TIS, lr by sqrt(ESS)", "TIS, lr matched"
	essColumn, rewardColumn            = "gap/ess_sequence", "critic/score/mean"
	// essAlarm is the share below which the effective samples are said to fall.
	essAlarm = 0.3
)

func vcpoESS() claim.Claim {
	return claim.Claim{
		ID:        "vcpo-ess",
		Title:     "On the chain task, scaling the learning rate by the effective samples helps more than a lower learning rate (learning rates 7e-4 and 1e-3)",
		Statement: "At a lag of 16 under token TIS, a learning rate scaled by sqrt(ESS) ends at a higher pass rate than a constant one with the same mean.",
		Source:    "VCPO, 2602.17616.",
		Figure:    "countdown, high lag: TIS falls to 0 within about 50 updates; VCPO at lag 10 41.9 against 38.4 synchronous, stable to a lag of 128",
		Threshold: "Pass rate, sqrt(ESS) minus the constant rate with the same mean, over two learning rates: above 0, sign-flip p < 0.05.",
		Setup: "GRPO on chain-base, equal engines, rollouts by the weights of 16 updates ago, token TIS with cap 2, 150 updates; learning rates 7e-4 and 1e-3. The scaled run goes first; the matched one has the mean of the rates that it used, by replication. " + claim.PassRateNote +
			"Reported: the lead, in updates, of the ESS of sequences falling below 0.3 on the first reward 30 % under its best, both means of ten updates, in runs of plain TIS that collapse; the logged reward is that of weights of 16 updates ago, and late by as much. " +
			"Pilot runs with the shipped weights on seed 9001 at 1e-3: TIS ends at 0.06, scaled at 0.86; sequence TIS with cap 8 at 0.55, scaled at 0.94. Token TIS was taken for its larger degradation; the matched arm had no pilot run.",
		LeftOut:  "VCPO's baseline; other lags than 16.",
		Commands: []string{`simulate train headline --set steps=150 --set "schedule={name: lag, k: 16}" --set "correction.weights={name: token_tis, cap: 2}" --set learner.optimizer.lr=1e-3 --set "guards=[{name: ess_lr}]"`},
		Declared: claim.BeforeResults,
		Unit:     claim.Run,
		Version:  1,
		Measure:  measureVCPO,
		Judge:    judgeVCPO,
	}
}

func measureVCPO(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	steps := e.Pick(150, 30, 6)
	const scale = "guard/ess_lr_scale"
	for _, rate := range vcpoRates {
		run := func(o *claim.Observation, name, rate string, columns []string, set ...string) error {
			return e.PassRates(ctx, o, name, steps, columns, append([]string{"schedule={name: lag, k: 16}", "correction.weights={name: token_tis, cap: 2}", claim.SetLR(rate)}, set...)...)
		}
		if err := run(o, claim.AtLR(vcpoPlain, rate), rate, []string{essColumn, rewardColumn}); err != nil {
			return nil, err
		}
		name, scaled := claim.AtLR(vcpoScaled, rate), new(claim.Observation)
		if err := run(scaled, name, rate, []string{scale}, "guards=[{name: ess_lr}]"); err != nil {
			return nil, err
		}
		o.Set(name, scaled.List(name)...)
		value, err := strconv.ParseFloat(rate, 64)
		if err != nil {
			return nil, err
		}
		value *= stats.Average(scaled.List(claim.ArmColumn(name, scale)))
		if err := run(o, claim.AtLR(vcpoMatched, rate), strconv.FormatFloat(value, 'g', -1, 64), nil); err != nil {
			return nil, err
		}
		o.Set(claim.AtLR("matched", rate), value)
	}
	return o, nil
}

func judgeVCPO(j *claim.Judge) {
	of := func(arm string) []float64 { return j.Late(vcpoRates, arm) }
	j.PrimaryOver(vcpoRates, func(rates []string) claim.Check {
		return claim.Better(claim.Natural, "pass rate, sqrt(ESS) minus the matched constant rate", stats.Differences(j.Late(rates, vcpoScaled), j.Late(rates, vcpoMatched)))
	})
	j.Secondary(claim.Better(claim.Natural, "pass rate, sqrt(ESS) minus TIS", stats.Differences(of(vcpoScaled), of(vcpoPlain))))
	j.Secondary(claim.Better(claim.Natural, "pass rate, matched constant rate minus TIS", stats.Differences(of(vcpoMatched), of(vcpoPlain))))
	j.Secondary(claim.FewerCollapses(claim.Natural, "runs that collapse, sqrt(ESS) against TIS", j.Collapses(vcpoRates, vcpoScaled), j.Collapses(vcpoRates, vcpoPlain)))
	j.Secondary(claim.FewerCollapses(claim.Natural, "runs that collapse, sqrt(ESS) against matched", j.Collapses(vcpoRates, vcpoScaled), j.Collapses(vcpoRates, vcpoMatched)))
	for _, rate := range vcpoRates {
		value, _ := strconv.ParseFloat(rate, 64)
		j.Secondary(claim.Report(claim.Natural, "mean learning rate that sqrt(ESS) uses, over lr "+rate, stats.Each(j.Column(claim.AtLR("matched", rate)), func(v float64) float64 { return v / value })))
	}
	if lead := leads(j); len(lead) > 1 {
		j.Secondary(claim.Above(claim.Natural, fmt.Sprintf("lead of the ESS on the reward, updates, in collapsing TIS runs from %d warm starts", len(lead)), lead, 0))
	}
	j.PassRateBars("Pass rate at a lag of 16, token TIS", vcpoRates, []string{vcpoPlain, vcpoScaled, vcpoMatched})
}

// leads are, for the plain runs that collapse, the updates from the first window with
// few effective samples to the first with a reward 30 % below the best before it, as means over
// the runs of a warm start.
func leads(j *claim.Judge) []float64 {
	out := make([][]float64, len(j.Runs))
	for i, o := range j.Runs {
		for _, rate := range vcpoRates {
			name := claim.AtLR(vcpoPlain, rate)
			if !claim.Collapsed(o.List(name)) {
				continue
			}
			ess := claim.FirstWindow(o.List(claim.ArmColumn(name, essColumn)), func(_, mean float64) bool { return mean < essAlarm })
			reward := claim.FirstWindow(o.List(claim.ArmColumn(name, rewardColumn)), record.HasCollapsed)
			if !math.IsInf(ess, 0) || !math.IsInf(reward, 0) {
				n := float64(len(o.List(claim.ArmColumn(name, essColumn))))
				out[i] = append(out[i], min(reward, n)-min(ess, n))
			}
		}
	}
	return j.Pooled(out)
}
