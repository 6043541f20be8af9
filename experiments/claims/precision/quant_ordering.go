package precision

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
)

// quantArms are the pairs of quant-ordering. All rollout engines are
// tensor-parallel over four ranks, so that equal formats still differ in order.
var quantArms = []struct {
	name             string
	rollout, learner string
}{{"bf16, both", "bf16", "bf16"}, {"fp8, both", "fp8-w8a8", "fp8-w8a8"}, {"int8, rollout only", "int8-w8a8", "bf16"}, {"fp8, rollout only", "fp8-w8a8", "bf16"}}

func quantOrdering() claim.Claim {
	return claim.Claim{
		ID:        "quant-ordering",
		Title:     "The gap orders as fp8 rollouts alone, fp8 on both sides, bf16 on both sides",
		Statement: "At equal weights of a mixture of experts the engine gap (k3) orders as quantised rollout only > quantised in both > bf16 in both, with fp8 as the quantised format.",
		Source:    "FP8-RL, 2601.18150; verl's fp8 document.",
		Figure:    "dense KL flat, MoE KL rising; 30B-A3B with fp8 rollouts above 5 near step 700",
		Threshold: "Logarithm of k3 along fp8 rollout only > fp8 both > bf16 both: the lesser of its two steps, interval above 0.",
		Setup: "Frozen chain-base, responses to the task's prompts; every rollout engine is tensor-parallel over four ranks with a bf16 wire, every learner is not. " +
			"Also examined: rollout only over both, at least 1.5; the dense counterpart; int8.",
		LeftOut:  "That the gap grows during training in mixtures of experts alone: two runs of 300 updates for every replication, of which those that collapse have a gap of their own. The headline's runs show the gap as it grows.",
		Commands: []string{"simulate measure --rollout fp8-w8a8 --learner bf16", "simulate measure --rollout int8-w8a8 --learner bf16"},
		Declared: claim.Declaration{When: claim.Revised, Date: "2026-11-21", Verdict: claim.Undecided,
			Check: "all 5 checks in five seeds; decisive: natural, slope of k3 over training steps, MoE minus dense: interval above 0, inconclusive",
			Again: "reproduced in a table of the same day, over 120 updates in place of 300; reproduced on 2026-11-22, after a change of the numerics of training"},
		Unit:    claim.Model,
		Version: 4,
		Measure: measureQuant,
		Judge:   judgeQuant,
	}
}

func measureQuant(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	shipped, twin, err := e.MoEAndDense(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, m := range []struct {
		name   string
		params *model.Params
	}{{"MoE", shipped}, {"dense", twin}} {
		var k3, absolute []float64
		for _, a := range quantArms {
			_, g := e.Measure(claim.Probe{Params: m.params, Rollout: claim.TensorParallel(claim.Numerics(a.rollout), 4), Sequences: e.Pick(1024, 192, 8), Tokens: 32, Stops: true}, claim.Numerics(a.learner))
			k3, absolute = append(k3, g.K3), append(absolute, g.MeanAbsDlogp)
		}
		o.Set(m.name+" k3", k3...)
		o.Set(m.name+" mean", absolute...)
	}
	return o, nil
}

func judgeQuant(j *claim.Judge) {
	for i, m := range []string{"MoE", "dense"} {
		c := claim.Above(claim.Natural, "lesser log step of the ordering, "+m, j.Each(func(o *claim.Observation) float64 {
			k := o.List(m + " k3")
			return min(elementary.Log(k[3]/k[1]), elementary.Log(k[1]/k[0]))
		}), 0)
		if i == 0 {
			j.Primary(c)
		} else {
			j.Secondary(c)
		}
		j.Secondary(claim.Ratio(claim.Natural, "k3, fp8 rollout only over fp8 both, "+m, j.Entry(m+" k3", 3), j.Entry(m+" k3", 1), 1.5))
		j.Secondary(claim.ReportRatio(claim.Natural, "k3, fp8 both over bf16 both, "+m, j.Entry(m+" k3", 1), j.Entry(m+" k3", 0)))
	}
	var names []string
	for _, a := range quantArms {
		names = append(names, a.name)
	}
	j.Evidence.Picture = j.Bars("Gap at equal weights", "k3 (nats per token)", true, names, j.Listed("MoE", "MoE k3"), j.Listed("dense", "dense k3"))
	j.Evidence.Table = j.NamedTable("Gap at equal weights", "engines", names, "MoE k3", "dense k3", "MoE mean", "dense mean")
}
