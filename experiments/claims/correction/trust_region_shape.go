package correction

import (
	"context"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/precision/elementary"
	"driftlab/trainer/batch"
	"driftlab/trainer/diagnose"
	"driftlab/trainer/loss"
	"driftlab/trainer/measure"
)

func trustRegionShape() claim.Claim {
	return claim.Claim{
		ID:        "trust-region-shape",
		Title:     "A ratio clip squeezes rare tokens, a divergence mask does not",
		Statement: "Ratio clipping over-restricts rare tokens and under-restricts frequent ones; a divergence mask anchored at the rollout policy fixes that, and schemes with no trust region drift.",
		Source:    "DPPO, 2602.04879; CISPO, 2506.13585.",
		Figure:    "1e-5 to 1e-3 is a ratio of 100 with TV 1e-3; 0.99 to 0.8 is a ratio of 0.81 with TV 0.19",
		Threshold: "Slope of the clipped share on log p below 0 in every seed for the ratio clip (0.2, 0.28), not below 0 for the TV mask (0.15); " +
			"exact KL(mu||pi) after the updates, CISPO over DPPO: interval above 1.",
		Setup: "Chain-base, bf16 rollouts, fp32 learner. One batch, 24 updates in minibatches at lr 1e-3 from the first weights: by importance sampling without a bound, to see what each rule would cut; " +
			"by CISPO and DPPO-TV, to see how far each goes. Shares over ten bins of the rollout probability. Amplified: 60 updates at lr 3e-3.",
		LeftOut:  "The reward.",
		Commands: []string{"simulate train headline --set loss=dppo_tv --set learner.minibatches=4 --set learner.optimizer.lr=1e-3"},
		Unit:     claim.Model,
		Version:  2,
		Measure:  measureTrust,
		Judge:    judgeTrust,
	}
}

func measureTrust(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	p, err := e.Base(ctx, 0)
	if err != nil {
		return nil, err
	}
	fp32 := claim.Numerics("fp32")
	b := e.Graded(p, claim.Numerics("bf16"), fp32, e.Pick(48, 12, 2))
	for _, d := range []struct {
		dose   claim.Dose
		rate   float64
		rounds int
	}{{claim.Natural, 1e-3, e.Pick(6, 6, 1)}, {claim.Amplified, 3e-3, e.Pick(15, 8, 1)}} {
		for _, arm := range []struct {
			name string
			loss loss.Loss
		}{{"unbounded", loss.NewImportanceSampling()}, {"CISPO", loss.NewCISPO()}, {"ratio clip", loss.NewPPOMask()}, {"DPPO", loss.NewDPPOTV()}} {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			l := measure.NewLearner(p, fp32)
			err := l.Update(claim.Minibatches(b, 4), arm.loss, d.rate, d.rounds)
			if err != nil {
				l.Close()
				return nil, err
			}
			now := claim.Minibatches(b, 1)[0]
			l.Score(&now.Old, now, nil)
			l.Close()
			o.Set(string(d.dose)+" KL "+arm.name, diagnose.Compare(now).ExactKL)
			if arm.name == "unbounded" {
				setClipped(o, string(d.dose), now)
			}
		}
	}
	return o, nil
}

// setClipped records, by tenth of the rollout probability, which share of the
// tokens each rule would cut.
func setClipped(o *claim.Observation, dose string, now *batch.Batch) {
	const bins = 10
	var logp, ratio, tv []float64
	order := stats.Order(now.LogpRoll)
	for k := range bins {
		part := order[k*len(order)/bins : (k+1)*len(order)/bins]
		var sum, cut, masked float64
		for _, n := range part {
			sum += now.LogpRoll[n]
			r := elementary.Exp(now.Old.Logp[n] - now.LogpRoll[n])
			shift := elementary.Exp(now.Old.Logp[n]) - elementary.Exp(now.LogpRoll[n])
			if a := now.Advantage[n]; a > 0 && r > 1.28 || a < 0 && r < 0.8 {
				cut++
			}
			if a := now.Advantage[n]; a > 0 && shift > 0.15 || a < 0 && shift < -0.15 {
				masked++
			}
		}
		c := float64(len(part))
		logp, ratio, tv = append(logp, sum/c), append(ratio, cut/c), append(tv, masked/c)
	}
	o.Set(dose+" log p", logp...)
	o.Set(dose+" cut by the ratio clip", ratio...)
	o.Set(dose+" cut by the TV mask", tv...)
}

func judgeTrust(j *claim.Judge) {
	for _, d := range []claim.Dose{claim.Natural, claim.Amplified} {
		a := string(d)
		slope := func(figure string) []float64 {
			return j.Each(func(o *claim.Observation) float64 { return stats.Slope(o.List(a+" log p"), o.List(figure)) })
		}
		j.Primary(claim.Above(d, "fall of the ratio clip's share with log p", stats.Negated(slope(a+" cut by the ratio clip")), 0))
		j.Also(claim.Above(d, "slope of the TV mask's share on log p", slope(a+" cut by the TV mask"), 0))
		j.Also(claim.Ratio(d, "exact KL after the updates, CISPO over DPPO-TV", j.Column(a+" KL CISPO"), j.Column(a+" KL DPPO"), 1))
		j.Also(claim.ReportRatio(d, "exact KL after the updates, unbounded over DPPO-TV", j.Column(a+" KL unbounded"), j.Column(a+" KL DPPO")))
		j.Also(claim.ReportRatio(d, "exact KL after the updates, ratio clip over DPPO-TV", j.Column(a+" KL ratio clip"), j.Column(a+" KL DPPO")))
	}
	x := claim.Counting(10)
	j.Evidence.Picture = claim.Chart("Share of tokens that a rule would cut", "tenth of the tokens, from the least probable", "share cut", "", false,
		j.Arm("ratio clip", x, "natural cut by the ratio clip"), j.Arm("TV mask", x, "natural cut by the TV mask"),
		j.Arm("ratio clip, more updates", x, "amplified cut by the ratio clip"), j.Arm("TV mask, more updates", x, "amplified cut by the TV mask"))
	j.Evidence.Table = j.CurvesTable("Share of tokens cut", "tenth", x, "natural log p", "natural cut by the ratio clip", "natural cut by the TV mask",
		"amplified cut by the ratio clip", "amplified cut by the TV mask")
}
