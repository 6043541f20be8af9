package precision

import (
	"cmp"
	"context"
	"slices"

	"driftlab/engine"
	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/results/stats"
)

// headBlocks are the parts of an engine that can be promoted to fp32 on their
// own.
var headBlocks = []struct {
	name    string
	promote func(*engine.Numerics)
}{
	{"none", func(*engine.Numerics) {}},
	{"head", func(n *engine.Numerics) { n.Head = precision.FP32 }},
	{"router", func(n *engine.Numerics) { n.Router = precision.FP32 }},
	{"projections", func(n *engine.Numerics) {
		n.Weights, n.Inputs = precision.Quantizer{Format: precision.FP32}, precision.Quantizer{Format: precision.FP32}
	}},
	{"attention", func(n *engine.Numerics) {
		n.Probabilities, n.KVCache = precision.FP32, precision.Quantizer{Format: precision.FP32}
	}},
	{"residual stream and norms", func(n *engine.Numerics) { n.Activations = precision.FP32 }},
}

func fp32Head() claim.Claim {
	return claim.Claim{
		ID:        "fp32-head",
		Title:     "An output head in fp32 shrinks the gap",
		Statement: "Computing the output head of the rollout engine in fp32, and all else in bf16, shrinks the engine gap (mean |dlogp|).",
		Source:    "MiniMax-M1 (CISPO), 2506.13585; ScaleRL.",
		Figure:    "correlation of training and inference probabilities from about 0.9 to 0.99",
		Threshold: "Mean |dlogp| without over with the fp32 head: interval above 1.",
		Setup: "bf16 rollouts scored in fp32; one block of the rollout engine at a time is promoted to fp32. Natural: chain-base and its dense counterpart on the task's prompts. " +
			"Amplified: a random dense model with 512 tokens and logits twice as large as the other claims' random models. " +
			"Also examined: the share of the gap that goes; the rank of the head among the blocks; and all blocks promoted, which leaves exactly 0.",
		LeftOut:  "That the share is large: the source names none, and the share that goes is reported. The cost: it belongs to a device.",
		Commands: []string{"simulate measure --rollout bf16 --learner fp32", "simulate measure --rollout bf16-fp32-head --learner fp32"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Reproduced,
			Check: "all 6 checks in five seeds, met; the leading one: natural, mean |dlogp| without over with the fp32 head, MoE: ≥ 1, interval above 1"},
		Unit:    claim.Model,
		Version: 2,
		Measure: measureHead,
		Judge:   judgeHead,
	}
}

func measureHead(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, twin, err := e.MoEAndDense(ctx, 0)
	if err != nil {
		return nil, err
	}
	wide := e.Deep(2, 0, 512, 128)
	for i := range wide.Head {
		wide.Head[i] *= 2
	}
	for _, m := range []struct {
		name   string
		params *model.Params
		n, t   int
		stops  bool
	}{{"MoE", shipped, e.Pick(512, 96, 4), 32, true}, {"dense", twin, e.Pick(512, 96, 4), 32, true}, {"wide", wide, e.Pick(96, 16, 2), 64, false}} {
		var absolute, pearson []float64
		for _, block := range headBlocks {
			b, g := e.Measure(claim.Probe{Params: m.params, Rollout: claim.Named(claim.Numerics("bf16"), "bf16", block.promote), Sequences: m.n, Tokens: m.t, Stops: m.stops}, claim.Numerics("fp32"))
			absolute, pearson = append(absolute, g.MeanAbsDlogp), append(pearson, 1-g.Pearson)
			if block.name == "none" {
				o.Set(m.name+" entropy", stats.Average(b.Old.Entropy))
			}
		}
		o.Set(m.name+" mean", absolute...)
		o.Set(m.name+" 1 - Pearson", pearson...)
		_, g := e.Measure(claim.Probe{Params: m.params, Rollout: claim.Named(claim.Numerics("bf16"), "all", func(n *engine.Numerics) {
			for _, block := range headBlocks {
				block.promote(n)
			}
		}), Sequences: 8, Tokens: 16}, claim.Numerics("fp32"))
		o.Set(m.name+" all", g.MaxAbsDlogp)
	}
	return o, nil
}

func judgeHead(j *claim.Judge) {
	for i, m := range []struct {
		name  string
		level claim.Level
	}{{"MoE", claim.Natural}, {"dense", claim.Natural}, {"wide", claim.Amplified}} {
		c := claim.Ratio(m.level, "mean |dlogp| without over with the fp32 head, "+m.name, j.Entry(m.name+" mean", 0), j.Entry(m.name+" mean", 1), 1)
		if i == 0 {
			j.Primary(c)
		} else {
			j.Secondary(c)
		}
		j.Secondary(claim.Report(m.level, "share of mean |dlogp| that goes, "+m.name, j.Each(func(o *claim.Observation) float64 {
			return 1 - o.List(m.name + " mean")[1]/o.List(m.name + " mean")[0]
		})))
		j.Secondary(claim.Report(m.level, "rank of the head among the blocks (1: its promotion leaves least), "+m.name, j.Each(func(o *claim.Observation) float64 { return headRank(o.List(m.name + " mean")) })))
		j.Secondary(claim.Zero(claim.Exact, "largest gap with all blocks promoted, "+m.name, j.Column(m.name+" all")))
	}
	var names []string
	for _, b := range headBlocks {
		names = append(names, b.name)
	}
	left := func(m string) claim.Group {
		return claim.Group{Name: m, Values: func(k int) []float64 { return stats.Quotients(j.Entry(m+" mean", k), j.Entry(m+" mean", 0)) }}
	}
	j.Evidence.Picture = j.Bars("What is left of the gap when one block is promoted to fp32", "mean |dlogp|, share of the bf16 gap", false, names, left("MoE"), left("dense"), left("wide"))
	j.Evidence.Table = j.NamedTable("Gap by promoted block", "promoted", names, "MoE mean", "dense mean", "wide mean", "MoE 1 - Pearson", "dense 1 - Pearson", "wide 1 - Pearson")
	j.Note("Entropy: %.2f nats in chain-base, %.2f in its dense counterpart, %.2f in the wide random model.",
		stats.T(j.Column("MoE entropy")).Estimate, stats.Average(j.Column("dense entropy")), stats.Average(j.Column("wide entropy")))
}

// headRank is the place of the head when the blocks are ordered by the gap
// their promotion leaves.
func headRank(gaps []float64) float64 {
	order := slices.Clone(gaps[1:])
	slices.SortFunc(order, cmp.Compare[float64])
	at, _ := slices.BinarySearch(order, gaps[1])
	return float64(at + 1)
}
