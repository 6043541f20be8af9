package ratio

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

func driftSign() claim.Claim {
	return claim.Claim{
		ID:    "drift-sign",
		Title: "In a dense model the log of the product ratio spreads as the square root of the length",
		Statement: "Rounding makes token log-ratios that add up like independent noise: with every position scaled to the same deviation, " +
			"the log of the product ratio spreads as the square root of the length, from 64 to 1,024 tokens, in a dense model.",
		Source:    "Gibbs' inequality; checks the premise of length-trap.",
		Figure:    "Gaussian gaps of sd s: mean -s²T/2, sd s·sqrt(T)",
		Threshold: "Slope of log sd on log t, positions standardised, t >= 64: interval inside [0.35, 0.65].",
		Setup: "The panels of length-trap: dense counterpart of chain-base and chain-base itself, bf16 rollouts scored in fp32 (natural); dense with running sums rounded to bf16 (amplified). " +
			"Also examined: the sign of the drift, which Gibbs' inequality makes negative; the mean over -sd²/2, within a quarter at the longest T with sd < 0.5; " +
			"the exponent in the mixture of experts, larger at the same level; and a bias (top-p 0.95 against the whole vocabulary), whose mean falls at least 3 times as steep.",
		LeftOut:  "The arm with stale weights: its sign follows from the same inequality, and training claims measure staleness.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 10 checks in five seeds, met; the leading one: natural, exponent of the spread, dense: interval inside [0.35, 0.65]"},
		Unit:    claim.Model,
		Version: 5,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			for _, a := range []namedArm{{"dense", denseBF16}, {"rounded", denseRounded}, {"moe", moeBF16}, {"top-p", denseTopP}} {
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
	for _, d := range []struct {
		level claim.Level
		arm   string
	}{{claim.Natural, "dense"}, {claim.Amplified, "rounded"}} {
		j.Primary(claim.Within(d.level, "exponent of the spread, dense", exponent(d.arm), 0.35, 0.65))
		j.Secondary(claim.Above(d.level, "downward drift at the longest T", stats.Negated(j.Last(d.arm+" mean")), 0))
		j.Secondary(claim.Within(d.level, "mean over -sd²/2", j.Each(func(o *claim.Observation) float64 {
			mean, sd := o.List(d.arm+" mean"), o.List(d.arm+" sd")
			at := 0
			for k := range sd {
				if sd[k] < 0.5 {
					at = k
				}
			}
			return mean[at] / (-sd[at] * sd[at] / 2)
		}), 0.75, 1.25))
	}
	moe := exponent("moe")
	j.Secondary(claim.Report(claim.Natural, "exponent of the spread, MoE", moe))
	j.Secondary(claim.Above(claim.Natural, "exponent, MoE minus dense", stats.Differences(moe, exponent("dense")), 0))
	j.Secondary(claim.Ratio(claim.Natural, "slope of |mean|, top-p bias over rounding", stats.Magnitudes(slope("top-p")), stats.Magnitudes(slope("dense")), 3))
	j.Evidence.Picture = claim.Chart("Mean log of the product ratio", "response length (tokens)", "nats",
		"All arms drift down, as they must. The bookkeeping bias of top-p falls along a line; rounding falls as half its variance.", false,
		j.Arm("dense, bf16 vs fp32", x, "dense mean"), j.Arm("dense, bf16 sums", x, "rounded mean"), j.Arm("MoE, bf16 vs fp32", x, "moe mean"),
		j.Arm("top-p 0.95 vs all", x, "top-p mean"))
	j.Evidence.Table = j.CurvesTable("Log of the product ratio", "tokens", x, "dense mean", "dense sd", "rounded mean", "rounded sd", "moe mean", "moe sd", "top-p mean")
}
