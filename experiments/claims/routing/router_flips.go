package routing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/batch"
)

func routerFlips() claim.Claim {
	return claim.Claim{
		ID:    "router-flips",
		Title: "Few router decisions flip, yet many tokens meet one",
		Statement: "A small share of router decisions differ between engines, yet because every token crosses many layers most tokens meet at least one difference; " +
			"flips sit at small router margins.",
		Source: "Rollout Routing Replay (R3), 2510.11370; PR2, 2606.00395.",
		Figure: "about 10 % of routers differ; 94 % of tokens in at least one of 48 layers",
		Threshold: "At 8 and 16 layers: share of tokens hit over flips per decision at least 3 in every seed. Flip rate in the lowest decile of the margins over the middle decile at least 5, interval above 1. " +
			"Equal engines: no flip.",
		Setup:    "bf16 rollouts scored in fp32. Natural: chain-base, two layers, past the stop token, which cannot reach a factor of 3. Amplified: random models of 2, 4, 8 and 16 layers, 96 tokens.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Unit:     claim.Model,
		Version:  2,
		Measure:  measureFlips,
		Judge:    judgeFlips,
	}
}

var flipDepths = []float64{2, 4, 8, 16}

func measureFlips(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, err := e.Base(ctx, 256)
	if err != nil {
		return nil, err
	}
	b, g := e.Measure(claim.Probe{Params: shipped, Rollout: claim.Numerics("bf16"), Sequences: e.Pick(192, 48, 4), Tokens: e.Pick(128, 64, 16)}, claim.Numerics("fp32"))
	o.Set("natural flips", g.FlipRoute, g.FlipToken)
	o.Set("natural deciles", flipsByMargin(b, shipped, claim.Numerics("fp32"))...)
	var route, token, predicted []float64
	for _, depth := range flipDepths {
		p := e.Deep(int(depth), 8, 256, 128)
		b, g := e.Measure(claim.Probe{Params: p, Rollout: claim.Numerics("bf16"), Sequences: e.Pick(64, 12, 2), Tokens: e.Pick(96, 64, 8)}, claim.Numerics("fp32"))
		route, token = append(route, g.FlipRoute), append(token, g.FlipToken)
		predicted = append(predicted, 1-elementary.Pow(1-g.FlipRoute, depth))
		if depth == 8 {
			o.Set("amplified deciles", flipsByMargin(b, p, claim.Numerics("fp32"))...)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	o.Set("flips per decision", route...)
	o.Set("tokens hit", token...)
	o.Set("tokens hit if independent", predicted...)
	_, g = e.Measure(claim.Probe{Params: shipped, Rollout: claim.Numerics("bf16"), Sequences: 8, Tokens: 16}, claim.Numerics("bf16"))
	o.Set("control", g.FlipToken)
	return o, nil
}

// flipsByMargin is the flip rate by decile of the learner's router margin.
func flipsByMargin(b *batch.Batch, p *model.Params, learner engine.Numerics) []float64 {
	type decision struct {
		margin float64
		flip   bool
	}
	var all []decision
	states(b, p, learner, false, func(pass *engine.Pass, rows []int) {
		for i, m := range routerMargins(pass, p, rows) {
			all = append(all, decision{m, flipAt(b, i/b.Layers, i%b.Layers)})
		}
	})
	slices.SortStableFunc(all, func(x, y decision) int { return cmp.Compare(x.margin, y.margin) })
	rate := make([]float64, 10)
	for k := range rate {
		part := all[k*len(all)/10 : (k+1)*len(all)/10]
		flips := 0
		for _, d := range part {
			if d.flip {
				flips++
			}
		}
		rate[k] = float64(flips) / float64(len(part))
	}
	return rate
}

func judgeFlips(j *claim.Judge) {
	hits := func(k int) []float64 {
		return stats.Quotients(j.Entry("tokens hit", k), j.Entry("flips per decision", k))
	}
	deciles := func(d claim.Dose, name string) {
		// With no flip in the middle decile the ratio is infinite, which passes.
		j.Primary(claim.Ratio(d, "flip rate, lowest margin decile over the middle one", j.Entry(name, 0), j.Entry(name, 4), 5))
	}
	deciles(claim.Natural, "natural deciles")
	deciles(claim.Amplified, "amplified deciles")
	for k, depth := range flipDepths {
		if depth >= 8 {
			j.Also(claim.Above(claim.Amplified, fmt.Sprintf("tokens hit over flips per decision, %v layers", depth), hits(k), 3))
		}
		j.Also(claim.ReportRatio(claim.Amplified, fmt.Sprintf("tokens hit over what independent flips give, %v layers", depth), j.Entry("tokens hit", k), j.Entry("tokens hit if independent", k)))
	}
	j.Also(claim.Above(claim.Natural, "tokens hit over flips per decision, chain-base", stats.Quotients(j.Entry("natural flips", 1), j.Entry("natural flips", 0)), 3))
	j.Also(claim.Zero(claim.Exact, "tokens hit between equal engines", j.Column("control")))
	j.Evidence.Picture = claim.Chart("Flips by depth, random models", "layers", "share", "bf16 rollouts scored in fp32.", true,
		j.Arm("tokens with a flip", flipDepths, "tokens hit"), j.Arm("if flips were independent", flipDepths, "tokens hit if independent"),
		j.Arm("flips per decision", flipDepths, "flips per decision"))
	j.Evidence.Table = j.CurvesTable("Flip rate by decile of the router margin", "decile", claim.Counting(10), "natural deciles", "amplified deciles")
}
