package routing

import (
	"context"
	"math"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

func moeRouteDriftLayers() claim.Claim {
	return claim.Claim{
		ID:        "moe-route-drift-layers",
		Title:     "A block where a token's experts flip multiplies its difference between engines by three (bf16, 2 layers)",
		Statement: "Engine differences enter at router layers: behind a flipped decision the residual stream differs at least three times as much as before it.",
		Source:    "CompassMax, 2512.07710; NeMo-RL issue 4243.",
		Figure:    "gap amplified behind routing, 1e-3 before replay and 1e-4 after; fp64 routers did not fix a 30B model",
		Threshold: "Relative difference of the residual stream after an expert block over before it, geometric mean over the decisions that flip, then over models: interval above 3. " +
			"Reported: the same over the decisions that do not flip; tokens that flip with exact routers; growth per layer with replayed routes minus the dense model's, against ± half of the free model's excess.",
		Setup: "bf16 rollouts against fp32 on the same tokens. Natural: chain-base, past the stop token. Amplified: random models of 8 layers. " +
			"Exact routers: weights and logits of the router in fp32 on both sides. " +
			"Reported: bf16 on both sides, the rollout engine's experts on four devices that send partial sums in bf16, which is all that differs.",
		Commands: []string{"simulate measure --rollout bf16-fp32-router --learner fp32", "simulate measure --rollout bf16-ep4 --learner bf16"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 7 checks in five seeds, met; the leading one: natural, difference after over before a flipped block: ≥ 3, interval above 1"},
		Unit:    claim.Model,
		Version: 4,
		Measure: measureDriftLayers,
		Judge:   judgeDriftLayers,
	}
}

func measureDriftLayers(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, err := e.Base(ctx, 256)
	if err != nil {
		return nil, err
	}
	deep, plain := e.Deep(8, 8, 256, 128), e.Deep(8, 0, 256, 128)
	bf16, fp32 := claim.Numerics("bf16"), claim.Numerics("fp32")
	exact := claim.Named(bf16, "bf16-fp32-router", func(n *engine.Numerics) { n.Router = precision.FP32 })
	n, t := e.Pick(32, 10, 2), e.Pick(64, 64, 8)
	for _, m := range []struct {
		name    string
		params  *model.Params
		rollout engine.Numerics
		learner engine.Numerics
		replay  bool
	}{
		{"chain-base", shipped, bf16, fp32, false}, {"MoE", deep, bf16, fp32, false}, {"MoE, exact router", deep, exact, fp32, false},
		{"chain-base, exact router", shipped, exact, fp32, false}, {"MoE, replayed", deep, bf16, fp32, true}, {"dense", plain, bf16, fp32, false},
		{"MoE, expert-parallel sum", deep, claim.Numerics("bf16-ep4"), bf16, false},
		{"chain-base, expert-parallel sum", shipped, claim.Numerics("bf16-ep4"), bf16, false},
	} {
		b, g := e.Measure(claim.Probe{Params: m.params, Rollout: m.rollout, Sequences: n, Tokens: t}, m.learner)
		o.Set(m.name+" flips", g.FlipToken)
		layers, flipped, kept := streamDifference(b, m.params, m.rollout, m.learner, m.replay)
		o.Set(m.name+" layers", layers...)
		o.Set(m.name+" jump", flipped, kept)
	}
	return o, nil
}

// streamDifference is the mean relative difference of the residual stream after
// every layer, between the rollout engine's pass and the learner's on the same
// tokens, and the geometric mean of that difference after the expert block over
// before it: over the decisions that flipped (NaN without any), and over those
// that did not.
func streamDifference(b *batch.Batch, p *model.Params, rollout, learner engine.Numerics, replay bool) (layers []float64, flipped, kept float64) {
	c := p.Config
	var middle, out [][]float32
	measure.States(b, p, rollout, false, func(pass *engine.Pass, rows []int) {
		for l := range c.Layers {
			middle, out = append(middle, gather(pass.Middle(l), rows, c.DModel)), append(out, gather(pass.Out(l), rows, c.DModel))
		}
	})
	var logs, count [2]float64 // not flipped, flipped
	measure.States(b, p, learner, replay, func(pass *engine.Pass, rows []int) {
		for l := range c.Layers {
			before, after := gather(pass.Middle(l), rows, c.DModel), gather(pass.Out(l), rows, c.DModel)
			sum := 0.0
			for n := range rows {
				from, to := n*c.DModel, (n+1)*c.DModel
				d := relative(out[l][from:to], after[from:to])
				sum += d
				at := 0
				if !c.Dense() && !replay && metrics.Flipped(b, n, l) {
					at = 1
				}
				if first := relative(middle[l][from:to], before[from:to]); d > 0 && first > 0 {
					logs[at] += elementary.Log(d / first)
					count[at]++
				}
			}
			layers = append(layers, sum/float64(len(rows)))
		}
	})
	return layers, elementary.Exp(logs[1] / count[1]), elementary.Exp(logs[0] / count[0])
}

// gather copies the rows of a matrix of width d.
func gather(x []float32, rows []int, d int) []float32 {
	out := make([]float32, 0, len(rows)*d)
	for _, r := range rows {
		out = append(out, x[r*d:(r+1)*d]...)
	}
	return out
}

// relative is the norm of a - b over the norm of b.
func relative(a, b []float32) float64 {
	var difference, size float64
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		difference += float64(d * d)
		size += float64(float64(b[i]) * float64(b[i]))
	}
	return math.Sqrt(difference / size)
}

func judgeDriftLayers(j *claim.Judge) {
	one := j.Each(func(*claim.Observation) float64 { return 1 })
	growth := func(name string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			y := o.List(name + " layers")
			return stats.Slope(claim.Counting(len(y)), stats.Logs(y))
		})
	}
	for _, d := range []struct {
		level claim.Level
		name  string
	}{{claim.Natural, "chain-base"}, {claim.Amplified, "MoE"}} {
		j.Primary(claim.Ratio(d.level, "difference after over before the block, where experts flip", j.Entry(d.name+" jump", 0), one, 3))
		j.Secondary(claim.ReportRatio(d.level, "difference after over before the block, where none flips", j.Entry(d.name+" jump", 1), one))
		j.Secondary(claim.Above(d.level, "tokens that still flip with exact routers", j.Column(d.name+", exact router flips"), 0))
		j.Secondary(claim.Report(d.level, "tokens that flip when only the expert-parallel sum differs", j.Column(d.name+", expert-parallel sum flips")))
	}
	free, replay, plain := growth("MoE"), growth("MoE, replayed"), growth("dense")
	j.Secondary(claim.Same(claim.Amplified, "log growth per layer, replayed minus dense", stats.Differences(replay, plain), stats.Differences(free, plain)))
	j.Secondary(claim.Report(claim.Amplified, "log growth per layer, free minus dense", stats.Differences(free, plain)))
	j.Secondary(claim.Report(claim.Amplified, "tokens that flip with bf16 routers", j.Column("MoE flips")))
	x := claim.Counting(8)
	j.Evidence.Picture = claim.Chart("Relative difference of the residual stream, 8 random layers", "layer", "share of the norm", "bf16 against fp32 on the same tokens; expert-parallel sum: bf16 on both sides.", true,
		j.Arm("MoE, free", x, "MoE layers"), j.Arm("MoE, exact router", x, "MoE, exact router layers"), j.Arm("MoE, replayed", x, "MoE, replayed layers"), j.Arm("dense", x, "dense layers"),
		j.Arm("MoE, expert-parallel sum alone", x, "MoE, expert-parallel sum layers"))
	j.Evidence.Table = j.CurvesTable("Relative difference of the residual stream", "layer", x, "MoE layers", "MoE, exact router layers", "MoE, replayed layers", "dense layers", "MoE, expert-parallel sum layers", "chain-base layers")
}
