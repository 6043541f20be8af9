package ratio

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

func seqVariance() claim.Claim {
	return claim.Claim{
		ID:    "seq-variance",
		Title: "In a dense model the variance of sequence weights multiplies per token (bf16 rollouts scored in fp32)",
		Statement: "The variance of untruncated sequence weights multiplies per token: log(1 + chi2) of the product ratio grows per token, within a factor 2, " +
			"by what it is for a single token, as long as the effective share of the responses exceeds 0.1.",
		Source:    "When Speed Kills Stability (MIS), parts 1 and 2.",
		Figure:    "1 % chi2 per token over 200 tokens multiplies the variance by 7.3, 5 % by 17,292",
		Threshold: "Slope of log(1 + chi2 of the sequence) on the length, over log(1 + chi2 of the token): within a factor 2, by the interval of the log2.",
		Setup: "The panel of length-trap: dense counterpart of chain-base, bf16 rollouts scored in fp32. " +
			"A finite sample of n weights cannot show an effective share below 1/n; lengths where it fell below 0.1 are left out of the fit. " +
			"Also examined: R² of the line, above 0.9, and the published powers. " +
			"The amplified arm of earlier versions, running sums rounded to bf16, is reported and judged no more: 96 responses do not show the variance of weights so wide.",
		LeftOut:  "The sweep over mantissa bits at a fixed length: fp16-bf16-gap has it.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 5 checks in five seeds, met; the leading one: natural, slope over log(1 + token chi2): interval inside [0.5, 2]"},
		Unit:    claim.Model,
		Version: 4,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			for _, a := range []namedArm{{"dense", denseBF16}, {"rounded", denseRounded}, {"moe", moeBF16}} {
				p, err := panelOf(ctx, e, a.arm)
				if err != nil {
					return nil, err
				}
				if a.name == "dense" {
					o.Set("lengths", p.lengths...)
				}
				chi2, ess := p.weights()
				o.Set(a.name+" chi2", chi2...)
				o.Set(a.name+" ESS", ess...)
				o.Set(a.name+" token", p.chi2)
				o.Set(a.name+" responses", float64(len(p.sum[0])))
			}
			return o, nil
		},
		Judge: judgeSeqVariance,
	}
}

func judgeSeqVariance(j *claim.Judge) {
	x := j.Runs[0].List("lengths")
	// fitted are the lengths with an effective share above 0.1, and log(1 + chi2)
	// there: of the sample, or of its effective share.
	fitted := func(o *claim.Observation, normalised bool) (t, y []float64) {
		for k, ess := range o.List("dense ESS") {
			switch {
			case ess <= 0.1:
			case normalised:
				t, y = append(t, x[k]), append(y, -elementary.Log(ess))
			default:
				t, y = append(t, x[k]), append(y, elementary.Log1p(o.List("dense chi2")[k]))
			}
		}
		return t, y
	}
	factor := func(normalised bool) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			return elementary.Log(stats.Slope(fitted(o, normalised))/elementary.Log1p(o.Number("dense token"))) / math.Ln2
		})
	}
	j.Primary(claim.Within(claim.Natural, "log2 of slope over log(1 + token chi2)", factor(false), -1, 1))
	j.Secondary(claim.Above(claim.Natural, "R² of a line through log(1 + chi2)", j.Each(func(o *claim.Observation) float64 { return stats.RSquared(fitted(o, false)) }), 0.9))
	j.Secondary(claim.Report(claim.Natural, "the same log2, from the self-normalised effective share", factor(true)))
	j.Secondary(claim.Report(claim.Natural, "effective share at the longest T", j.Last("dense ESS")))
	j.Secondary(claim.Report(claim.Amplified, "effective share at the longest T, sums rounded to bf16", j.Last("rounded ESS")))
	j.Secondary(claim.AtMost(claim.Exact, "error of the published factors", j.Each(func(*claim.Observation) float64 {
		return max(math.Abs(elementary.Pow(1.01, 200)/7.316-1), math.Abs(elementary.Pow(1.05, 200)/17292-1))
	}), 5e-4))
	j.Secondary(claim.Report(claim.Natural, "MoE, effective share at the longest T", j.Last("moe ESS")))
	j.Evidence.Picture = claim.Chart("Effective share of the responses, weighted by their product ratio", "response length (tokens)", "ESS/n",
		"Token weights keep their variance at every length; their product does not.", true,
		j.Arm("dense, bf16 vs fp32", x, "dense ESS"), j.Arm("dense, bf16 sums", x, "rounded ESS"), j.Arm("MoE, bf16 vs fp32", x, "moe ESS"))
	j.Evidence.Table = j.CurvesTable("Sequence weights", "tokens", x, "dense chi2", "dense ESS", "rounded chi2", "rounded ESS", "moe chi2", "moe ESS")
}
