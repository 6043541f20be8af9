package ratio

import (
	"context"
	"math"

	"driftlab/experiments/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

func lengthTrap() claim.Claim {
	return claim.Claim{
		ID:    "length-trap",
		Title: "A cap of 2 on the sequence ratio keeps less than half as many responses of 1,024 tokens as of 32",
		Statement: "A sequence-level ratio with a fixed cap is a length filter: at the same per-token agreement, the share of responses with a product ratio in [1/2, 2] " +
			"is at least twice as large at 32 tokens as at 1,024.",
		Source:    "The arithmetic is folklore of sequence-level importance sampling (GSPO, 2507.18071; sequence TIS and sequence masks of verl, SkyRL, slime).",
		Figure:    "1.001^2000 = 7.38: a cap of 2 keeps most 100-token and rejects nearly all 2,000-token sequences",
		Threshold: "Share of responses with a product ratio in [1/2, 2], at 32 tokens over at 1,024: interval above 2.",
		Setup: "1,024 responses of 1,024 tokens per model, past the stop token; a prefix is a response of that length. Natural: the dense counterpart of chain-base, bf16 rollouts scored in fp32. " +
			"Amplified: running sums rounded to bf16, 96 responses. Control: equal engines. Also examined: the published powers to 4 digits, whether the share ever rises, " +
			"and whether the share inside the geometric band [0.99, 1.01] changes by less than a quarter as much.",
		LeftOut:  "Lengths beyond 1,024 tokens.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32", "simulate measure --rollout bf16-accumulate --learner bf16"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 8 checks in five seeds, met; the leading one: natural, share in [1/2, 2], shortest over longest: ≥ 2, interval above 1"},
		Unit:    claim.Model,
		Version: 4,
		Measure: func(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
			o := new(claim.Observation)
			o.Set("powers", powerError())
			for _, a := range []namedArm{{"natural", denseBF16}, {"amplified", denseRounded}, {"control", identical}} {
				p, err := panelOf(ctx, e, a.arm)
				if err != nil {
					return nil, err
				}
				if a.name == "natural" {
					o.Set("lengths", p.lengths...)
				}
				for _, c := range []struct {
					name string
					cap  float64
				}{{"1.5", 1.5}, {"2", 2}, {"5", 5}} {
					o.Set(a.name+" product "+c.name, p.accepted(elementary.Log(c.cap), false)...)
				}
				o.Set(a.name+" geometric", p.accepted(elementary.Log(1.01), true)...)
			}
			return o, nil
		},
		Judge: judgeLengthTrap,
	}
}

// powerError is the largest relative deviation from the powers that the
// literature quotes, each given to four digits.
func powerError() float64 {
	worst := 0.0
	for _, q := range []struct{ base, exponent, value float64 }{
		{1.001, 2000, 7.382}, {1.1, 10, 2.594}, {1.1, 50, 117.4}, {1.1, 100, 13780}, {1.01, 1000, 20960}, {0.99, 1000, 4.317e-5},
		{0.9, 500, 1.322e-23}, {1.1, 500, 4.970e20},
	} {
		worst = max(worst, math.Abs(elementary.Pow(q.base, q.exponent)/q.value-1))
	}
	return worst
}

func judgeLengthTrap(j *claim.Judge) {
	last := func(o *claim.Observation, name string) (first, end float64) {
		v := o.List(name)
		return v[0], v[len(v)-1]
	}
	for _, d := range []claim.Level{claim.Natural, claim.Amplified} {
		a := string(d)
		j.Primary(claim.Ratio(d, "share in [1/2, 2], shortest over longest", j.Entry(a+" product 2", 0), j.Last(a+" product 2"), 2))
		j.Secondary(claim.Above(d, "fall of that share with length", j.Each(func(o *claim.Observation) float64 { return fall(o.List(a + " product 2")) }), 0))
		j.Secondary(claim.Below(d, "change of the geometric share over that of the product share", j.Each(func(o *claim.Observation) float64 {
			s, l := last(o, a+" product 2")
			gs, gl := last(o, a+" geometric")
			if s == l {
				return math.NaN()
			}
			return math.Abs(gs-gl) / math.Abs(s-l)
		}), 0.25))
	}
	j.Secondary(claim.AtMost(claim.Exact, "error of the published powers", j.Column("powers"), 5e-4))
	j.Secondary(claim.Zero(claim.Exact, "share rejected between equal engines", stats.Complement(j.Last("control product 1.5"))))
	x := j.Runs[0].List("lengths")
	j.Evidence.Picture = claim.Chart("Share of responses that a cap of 2 lets pass", "response length (tokens)", "share kept",
		"Nothing but rounding differs between the engines. The same agreement per token is let through or thrown away depending on the length.", false,
		j.Arm("bf16 vs fp32, product", x, "natural product 2"), j.Arm("bf16 sums, product", x, "amplified product 2"),
		j.Arm("bf16 sums, geometric band", x, "amplified geometric"), j.Arm("equal engines", x, "control product 2"))
	j.Evidence.Picture.Y.High = 1
	j.Evidence.Table = j.CurvesTable("Share of responses kept", "tokens", x, "natural product 1.5", "natural product 2", "natural product 5",
		"natural geometric", "amplified product 1.5", "amplified product 2", "amplified product 5", "amplified geometric")
}

// fall is the total fall of a curve that never rises, and minus the largest
// rise of one that does.
func fall(y []float64) float64 {
	rise := 0.0
	for i := 1; i < len(y); i++ {
		rise = max(rise, y[i]-y[i-1])
	}
	if rise > 0 {
		return -rise
	}
	return y[0] - y[len(y)-1]
}
