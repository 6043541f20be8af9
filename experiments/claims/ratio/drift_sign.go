package ratio

import (
	"context"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/precision/elementary"
)

func driftSign() claim.Claim {
	return claim.Claim{
		ID:    "drift-sign",
		Title: "The product ratio drifts down linearly and spreads as the square root of the length",
		Statement: "Because sequences are sampled from the rollout engine, the log of the product ratio drifts down linearly in T and spreads as sqrt(T); " +
			"a steady upward drift such as 1.001 per token needs a systematic bias, not noise.",
		Source: "Gibbs' inequality; checks the premise of length-trap.",
		Figure: "Gaussian gaps of sd s: mean -s²T/2, sd s·sqrt(T)",
		Threshold: "Slope of log sd on log t, positions standardised, t >= 64: interval inside [0.35, 0.65] in the dense model, larger in the mixture of experts (paired interval above 0). " +
			"A bias (top-p 0.95 against the whole vocabulary) makes |mean| fall linearly, at least 3 times as steep. Mean negative in every seed; |mean + sd²/2| within 25 % of sd²/2 at the longest T with sd < 0.5.",
		Setup: "The panels of length-trap: dense twin of chain-base and chain-base itself, bf16 rollouts scored in fp32 (natural); dense with running sums rounded to bf16 (amplified). " +
			"The mean over -sd²/2 at the natural dose is of the 4,096 responses of seq-variance: the mean of fewer is too uncertain for a quarter.",
		LeftOut:  "The arm with stale weights: its sign follows from the same inequality, and training claims measure staleness.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Unit:     claim.Model,
		Version:  3,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			for _, a := range []namedArm{{"dense", denseBF16}, {"rounded", denseRounded}, {"moe", moeBF16}, {"top-p", denseTopP}, {"many", denseMany}} {
				p, err := panelOf(ctx, e, a.arm)
				if err != nil {
					return nil, err
				}
				if a.name == "dense" {
					o.Set("lengths", p.lengths...)
				}
				mean, sd := p.moments()
				o.Set(a.name+" mean", mean...)
				o.Set(a.name+" sd", sd...)
				o.Set(a.name+" spread", p.spread...)
			}
			return o, nil
		},
		Judge: judgeDriftSign,
	}
}

func judgeDriftSign(j *claim.Judge) {
	x := j.Runs[0].List("lengths")
	exponent := func(arm string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			var lx, ly []float64
			for k, t := range x {
				if t >= 64 || x[len(x)-1] < 128 {
					lx, ly = append(lx, elementary.Log(t)), append(ly, elementary.Log(o.List(arm + " spread")[k]))
				}
			}
			return stats.Slope(lx, ly)
		})
	}
	slope := func(arm string) []float64 {
		return j.Each(func(o *claim.Observation) float64 { return stats.Slope(x, o.List(arm+" mean")) })
	}
	moe := exponent("moe")
	for _, d := range []struct {
		dose      claim.Dose
		arm, mean string
	}{{claim.Natural, "dense", "many"}, {claim.Amplified, "rounded", "rounded"}} {
		own := exponent(d.arm)
		j.Primary(claim.Within(d.dose, "exponent of the spread, dense", own, 0.35, 0.65))
		j.Also(claim.Above(d.dose, "exponent, MoE minus dense", stats.Differences(moe, own), 0))
		j.Also(claim.Ratio(d.dose, "slope of |mean|, top-p bias over rounding", stats.Magnitudes(slope("top-p")), stats.Magnitudes(slope(d.arm)), 3))
		j.Also(claim.Above(d.dose, "downward drift at the longest T", stats.Negated(j.Last(d.arm+" mean")), 0))
		j.Also(claim.Within(d.dose, "mean over -sd²/2", j.Each(func(o *claim.Observation) float64 {
			mean, sd := o.List(d.mean+" mean"), o.List(d.mean+" sd")
			at := 0
			for k := range sd {
				if sd[k] < 0.5 {
					at = k
				}
			}
			return mean[at] / (-sd[at] * sd[at] / 2)
		}), 0.75, 1.25))
	}
	j.Also(claim.Report(claim.Natural, "exponent of the spread, MoE", moe))
	j.Evidence.Picture = claim.Chart("Mean log of the product ratio", "response length (tokens)", "nats",
		"All arms drift down, as they must. The bookkeeping bias of top-p falls along a line; rounding falls as half its variance.", false,
		j.Arm("dense, bf16 vs fp32", x, "dense mean"), j.Arm("dense, bf16 sums", x, "rounded mean"), j.Arm("MoE, bf16 vs fp32", x, "moe mean"),
		j.Arm("top-p 0.95 vs all", x, "top-p mean"))
	j.Evidence.Table = j.CurvesTable("Log of the product ratio", "tokens", x, "dense mean", "dense sd", "rounded mean", "rounded sd", "moe mean", "moe sd", "top-p mean")
}
