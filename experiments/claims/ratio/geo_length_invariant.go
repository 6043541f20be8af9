package ratio

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

func geoLengthInvariant() claim.Claim {
	return claim.Claim{
		ID:    "geo-length-invariant",
		Title: "In a dense model a fixed geometric band grows lenient with length",
		Statement: "The per-token geometric mean of the ratio has a spread that shrinks with length, so a geometric band of [0.99, 1.01] is not length-neutral either: " +
			"in a dense model the share of responses it masks falls with the length, from 32 to 1,024 tokens.",
		Source:    "SkyRL's sequence masks and issue 1665; verl's Geo-RS.",
		Figure:    "geometric band 0.99-1.01 next to a product band 0.5-2, called length-invariant",
		Threshold: "Rank correlation of length and share masked by the geometric band: interval below 0.",
		Setup: "The panels of length-trap. Natural: bf16 rollouts scored in fp32, dense counterpart and chain-base. Amplified: running sums rounded to bf16 in the dense model. Bias: top-p 0.95 against the whole vocabulary. Control: equal engines. " +
			"Also examined: the product band, whose rank correlation should exceed 0.8; the geometric band in the mixture of experts, above 0; and under a constant bias, a step: under 1 % or over 99 % at the longest T. " +
			"The amplified figure was once published as -0.48 and then as +0.21, both from one dense counterpart: between them it was warm-started anew by a program whose sums round otherwise, so it was another model, " +
			"and six shares between 0.36 and 0.42 have a rank correlation that little moves. Hence a dense counterpart per replication.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 9 checks in five seeds, met; the leading one: natural, trend of the geometric mask, dense: ≤ 1e-12 in every seed"},
		Unit:    claim.Model,
		Version: 4,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			for _, a := range []namedArm{{"dense", denseBF16}, {"rounded", denseRounded}, {"moe", moeBF16}, {"top-p", denseTopP}, {"equal", identical}} {
				p, err := panelOf(ctx, e, a.arm)
				if err != nil {
					return nil, err
				}
				if a.name == "dense" {
					o.Set("lengths", p.lengths...)
				}
				o.Set(a.name+" product", stats.Complement(p.accepted(math.Ln2, false))...)
				o.Set(a.name+" geometric", stats.Complement(p.accepted(elementary.Log(1.01), true))...)
				o.Set(a.name+" token", p.tokensOut...)
			}
			return o, nil
		},
		Judge: judgeGeoLength,
	}
}

func judgeGeoLength(j *claim.Judge) {
	x := j.Runs[0].List("lengths")
	trend := func(name string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			if r := stats.Spearman(x, o.List(name)); !math.IsNaN(r) {
				return r
			}
			return 0 // a constant share has no trend
		})
	}
	for _, d := range []struct {
		level claim.Level
		arm   string
	}{{claim.Natural, "dense"}, {claim.Amplified, "rounded"}} {
		j.Primary(claim.Below(d.level, "trend of the geometric mask, dense", trend(d.arm+" geometric"), 0))
		j.Secondary(claim.Above(d.level, "trend of the product mask, dense", trend(d.arm+" product"), 0.8))
		j.Secondary(claim.Report(d.level, "share masked, shortest minus longest, dense", stats.Differences(j.Entry(d.arm+" geometric", 0), j.Last(d.arm+" geometric"))))
	}
	j.Secondary(claim.Above(claim.Natural, "trend of the geometric mask, MoE", trend("moe geometric"), 0))
	step := stats.Each(j.Last("top-p geometric"), func(end float64) float64 { return min(end, 1-end) })
	j.Secondary(claim.AtMost(claim.Natural, "distance of the biased geometric mask from a step", step, 0.01))
	j.Secondary(claim.Zero(claim.Exact, "masked between equal engines", j.Each(func(o *claim.Observation) float64 {
		return max(stats.Max(o.List("equal product")), stats.Max(o.List("equal geometric")), stats.Max(o.List("equal token")))
	})))
	j.Evidence.Picture = claim.Chart("Share of responses that a mask rejects", "response length (tokens)", "share masked",
		"Product and geometric band ask opposite things of long responses.", false,
		j.Arm("product [0.5, 2], dense", x, "rounded product"), j.Arm("geometric [0.99, 1.01], dense", x, "rounded geometric"),
		j.Arm("geometric, MoE", x, "moe geometric"), j.Arm("geometric, top-p bias", x, "top-p geometric"))
	j.Evidence.Table = j.CurvesTable("Share masked", "tokens", x, "dense product", "dense geometric", "rounded product", "rounded geometric",
		"moe product", "moe geometric", "top-p geometric", "moe token")
}
