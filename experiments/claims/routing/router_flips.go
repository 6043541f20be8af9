package routing

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

func routerFlips() claim.Claim {
	return claim.Claim{
		ID:        "router-flips",
		Title:     "A token meets a flipped router decision three times as often as a decision flips (8 layers)",
		Statement: "A small share of router decisions differ between engines, yet, because a token crosses eight layers, tokens that meet a difference are at least three times as many.",
		Source:    "Rollout Routing Replay (R3), 2510.11370; PR2, 2606.00395.",
		Figure:    "about 10 % of routers differ; 94 % of tokens in at least one of 48 layers",
		Threshold: "Share of tokens with a flip over the share of decisions that flip, 8 layers: interval above 3 (8 if flips were alone, 1 if a token's flipped together). " +
			"Reported: flip rate in the lowest tenth of the router margins over the middle tenth, pooled counts, against 5; the same shares at other depths; equal engines, no flip.",
		Setup: "bf16 rollouts scored in fp32. Natural: eight thin layers with a warm start of their own, a tenth as long as chain-base's; 48 tokens, past the stop token. " +
			"Also reported: chain-base, two layers, which cannot reach 3. Amplified: random models of 2, 4, 8 and 16 layers, 64 tokens.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.OnlyAmplified,
			Check: "all 6 checks in five seeds; decisive: natural, tokens hit over flips per decision, chain-base: > 3 in every seed, not met"},
		Unit:    claim.Model,
		Version: 3,
		Measure: measureFlips,
		Judge:   judgeFlips,
	}
}

// flipDepths are those of the random models; the primary check is at judgedDepth.
var flipDepths = []float64{2, 4, 8, 16}

const judgedDepth = 8

func measureFlips(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	base, err := e.Base(ctx, 256)
	if err != nil {
		return nil, err
	}
	deep, err := eightLayers(ctx, e, 8, 128)
	if err != nil {
		return nil, err
	}
	bf16, fp32 := claim.Numerics("bf16"), claim.Numerics("fp32")
	for _, m := range []struct {
		name   string
		params *model.Params
	}{{"natural", deep}, {"chain-base", base}} {
		b, g := e.Measure(claim.Probe{Params: m.params, Rollout: bf16, Sequences: e.Pick(192, 48, 4), Tokens: e.Pick(48, 32, 16)}, fp32)
		o.Set(m.name+" flips", g.FlipRoute, g.FlipToken)
		flips, all := flipsByMargin(b, m.params, fp32)
		o.Set(m.name+" flips by margin", flips...)
		o.Set(m.name+" decisions by margin", all...)
	}
	var route, token, predicted []float64
	for _, depth := range flipDepths {
		p := e.Deep(int(depth), 8, 256, 128)
		b, g := e.Measure(claim.Probe{Params: p, Rollout: bf16, Sequences: e.Pick(48, 12, 2), Tokens: e.Pick(64, 64, 8)}, fp32)
		route, token = append(route, g.FlipRoute), append(token, g.FlipToken)
		predicted = append(predicted, 1-elementary.Pow(1-g.FlipRoute, depth))
		if depth == judgedDepth {
			flips, all := flipsByMargin(b, p, fp32)
			o.Set("amplified flips by margin", flips...)
			o.Set("amplified decisions by margin", all...)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	o.Set("flips per decision", route...)
	o.Set("tokens hit", token...)
	o.Set("tokens hit if independent", predicted...)
	_, g := e.Measure(claim.Probe{Params: base, Rollout: bf16, Sequences: 8, Tokens: 16}, bf16)
	o.Set("control", g.FlipToken)
	return o, nil
}

// flipsByMargin counts flips and decisions by decile of the learner's router margin.
func flipsByMargin(b *batch.Batch, p *model.Params, learner engine.Numerics) (flips, decisions []float64) {
	type decision struct {
		margin float64
		flip   bool
	}
	var all []decision
	measure.States(b, p, learner, false, func(pass *engine.Pass, rows []int) {
		for i, m := range measure.RouterMargins(pass, p, rows) {
			all = append(all, decision{m, metrics.Flipped(b, i/b.Layers, i%b.Layers)})
		}
	})
	slices.SortStableFunc(all, func(x, y decision) int { return cmp.Compare(x.margin, y.margin) })
	flips, decisions = make([]float64, 10), make([]float64, 10)
	for k := range flips {
		part := all[k*len(all)/10 : (k+1)*len(all)/10]
		decisions[k] = float64(len(part))
		for _, d := range part {
			if d.flip {
				flips[k]++
			}
		}
	}
	return flips, decisions
}

func judgeFlips(j *claim.Judge) {
	j.Primary(claim.Ratio(claim.Natural, "tokens hit over flips per decision, 8 layers", j.Entry("natural flips", 1), j.Entry("natural flips", 0), 3))
	j.Secondary(claim.Report(claim.Natural, "flips per decision, 8 layers", j.Entry("natural flips", 0)))
	j.Secondary(claim.ReportRatio(claim.Natural, "tokens hit over flips per decision, chain-base of 2 layers", j.Entry("chain-base flips", 1), j.Entry("chain-base flips", 0)))
	for k, depth := range flipDepths {
		name := fmt.Sprintf("tokens hit over flips per decision, %v layers", depth)
		if hit, flips := j.Entry("tokens hit", k), j.Entry("flips per decision", k); depth == judgedDepth {
			j.Primary(claim.Ratio(claim.Amplified, name, hit, flips, 3))
		} else {
			j.Secondary(claim.ReportRatio(claim.Amplified, name, hit, flips))
		}
		j.Secondary(claim.ReportRatio(claim.Amplified, fmt.Sprintf("tokens hit over what independent flips give, %v layers", depth), j.Entry("tokens hit", k), j.Entry("tokens hit if independent", k)))
	}
	byMargin := []string{"natural", "chain-base", "amplified"}
	for k, level := range []claim.Level{claim.Natural, claim.Natural, claim.Amplified} {
		flips, all := byMargin[k]+" flips by margin", byMargin[k]+" decisions by margin"
		name := "flip rate, lowest tenth of the margins over the middle one, " + []string{"8 layers", "chain-base", "8 layers"}[k]
		j.Secondary(claim.Rates(level, name, j.Entry(flips, 0), j.Entry(all, 0), j.Entry(flips, 4), j.Entry(all, 4), 5))
	}
	j.Secondary(claim.Zero(claim.Exact, "tokens hit between equal engines", j.Column("control")))
	j.Evidence.Picture = claim.Chart("Flips by depth, random models", "layers", "share", "bf16 rollouts scored in fp32.", true,
		j.Arm("tokens with a flip", flipDepths, "tokens hit"), j.Arm("if flips were independent", flipDepths, "tokens hit if independent"),
		j.Arm("flips per decision", flipDepths, "flips per decision"))
	j.Evidence.Table = j.CurvesTable("Flips by tenth of the router margin, of equally many decisions", "tenth", claim.Counting(10),
		"natural flips by margin", "natural decisions by margin", "chain-base flips by margin", "chain-base decisions by margin", "amplified flips by margin", "amplified decisions by margin")
}
