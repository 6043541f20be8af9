package age

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
	"driftlab/trainer/method/schedule"
)

// allowances are verl's staleness thresholds, in hundredths of a batch.
var allowances = []int{0, 10, 30, 50}

// spreads are the standard deviations of the log-length, in thousandths; the
// fourth is that of reasoning models.
var spreads = []int{0, 300, 600, 990, 1300}

func asyncSpeed() claim.Claim {
	return claim.Claim{
		ID:        "async-speed",
		Title:     "On a clock, asynchrony's gain stops growing at a staleness allowance of 0.3",
		Statement: "The gain of a staleness allowance over synchronous training has saturated at 0.3 of a batch: going on to 0.5 adds less than a tenth of it.",
		Source:    "verl, docs/advance/fully_async.md; one_step_off.md; AReaL, 2505.24298; ROLL Flash, 2510.11345.",
		Figure:    "400 steps in 25h53m, 19h59m, 17h20m, 17h22m at allowances 0, 0.1, 0.3, 0.5; one-step-off 1.24x to 1.40x, fully asynchronous 1.92x to 2.66x",
		Threshold: "(Speed at 0.5 minus speed at 0.3) over (speed at 0.3 minus speed at 0), trained tokens per second: interval below 0.1.",
		Setup: "verl's fully asynchronous policy with partial rollouts, a publication every four updates, on 32 devices of the virtual clock, half of which generate; costs under which the rollout is half of a synchronous step, as in verl's tables; " +
			"lengths lognormal with sigma 0.99, cut at 20 medians. Each replication draws 24 batches of 64 prompts. The baseline is the synchronous loop on as many devices with the same prompts. " +
			"Reported: another division and cost table (75:25, the rollout 84 % of a step), decoding at a speed that the load does not change, and the spread of the lengths from 0 to 1.3. " +
			"Pilot runs on seed 9001: speed-ups 1.07, 1.14, 1.28, 1.28; and on seeds 9001 to 9003 with 64 devices and twice the batches, which the cost halved. Nothing else was changed.",
		LeftOut:  "The multipliers: they depend on hardware. Time to a target reward, which needs training.",
		Commands: []string{"simulate schedule verl_partial k=4 staleness_percent=30 cluster.generate=50 costs.learn_token=700 --gpus 32"},
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureAsyncSpeed,
		Judge:    judgeAsyncSpeed,
	}
}

func measureAsyncSpeed(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	law, err := reasoning(990)
	if err != nil {
		return nil, err
	}
	gain := func(s setting, p schedule.Policy, sigma int) float64 {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return 0
		}
		law.Sigma = sigma
		var x float64
		x, err = speedup(e, clusterOf(e, s), p, law)
		return x
	}
	for _, s := range settings {
		var byAllowance, bySpread []float64
		for _, a := range allowances {
			byAllowance = append(byAllowance, gain(s, fullyAsync(a), 990))
		}
		for _, sigma := range spreads {
			bySpread = append(bySpread, gain(s, fullyAsync(50), sigma))
		}
		o.Set(s.name+", by allowance", byAllowance...)
		o.Set(s.name+", by spread", bySpread...)
		o.Set(s.name+", one step off", gain(s, &schedule.OneStepOff{Interval: 1}, 990))
		o.Set(s.name+", AReaL", gain(s, &schedule.AReaL{Eta: 4}, 990))
	}
	return o, err
}

// fullyAsync is verl's mode d.
func fullyAsync(allowance int) *schedule.Verl {
	return &schedule.Verl{K: 4, StalenessPercent: allowance, Partial: true, RequireBatches: 1}
}

func judgeAsyncSpeed(j *claim.Judge) {
	for i, s := range settings {
		name := s.name + ", by allowance"
		rest := j.Each(func(o *claim.Observation) float64 {
			x := o.List(name)
			return (x[3] - x[2]) / (x[2] - x[0])
		})
		if i == 0 {
			j.Primary(claim.Below(claim.Natural, "gain from allowance 0.3 to 0.5 over that from 0 to 0.3", rest, 0.1))
		} else {
			j.Secondary(claim.Report(claim.Natural, s.name+": gain from allowance 0.3 to 0.5 over that from 0 to 0.3", rest))
		}
		j.Secondary(claim.Report(claim.Natural, s.name+": speed-up at allowance 0.5", j.Last(name)))
		j.Secondary(claim.Report(claim.Natural, s.name+": rank correlation of the speed-up with the spread of the lengths", j.Each(func(o *claim.Observation) float64 {
			return stats.Spearman(claim.Counting(len(spreads)), o.List(s.name+", by spread"))
		})))
		j.Secondary(claim.Report(claim.Natural, s.name+": speed-up, fully asynchronous minus one step off", stats.Differences(j.Last(name), j.Column(s.name+", one step off"))))
		j.Secondary(claim.Report(claim.Natural, s.name+": speed-up, AReaL at eta 4", j.Column(s.name+", AReaL")))
	}
	x := make([]float64, len(allowances))
	for i, a := range allowances {
		x[i] = float64(a) / 100
	}
	c := claim.Chart("What an allowance of old samples gains on the clock", "staleness allowance, batches", "trained tokens per second over synchronous", "Same devices, prompts, lengths and costs on both sides; a virtual clock is no forecast of a cluster.", false)
	for _, s := range settings {
		c.Series = append(c.Series, j.Arm(s.name, x, s.name+", by allowance"))
	}
	j.Evidence.Picture = c
	var columns []string
	sigma := make([]float64, len(spreads))
	for i, s := range spreads {
		sigma[i] = float64(s) / 1000
	}
	for _, s := range settings {
		columns = append(columns, s.name+", by spread")
	}
	j.Evidence.Table = j.CurvesTable("Speed-up at allowance 0.5 by the spread of the log-length", "sigma", sigma, columns...)
}
