package precision

import (
	"driftlab/experiments/claims/claim"
	"driftlab/model"
)

// further are untrained dense models of two layers, plain and with what larger models have.
var further = []struct {
	name   string
	change func(p *model.Params)
}{
	{"2 untrained layers", func(*model.Params) {}},
	{"2 untrained layers, logits 4 times as large", func(p *model.Params) { scale(p.Head, 4) }},
	{"2 untrained layers, two outlier channels", addOutliers},
}

// outlierChannels of the residual stream are outlierSize times as large as the others, from
// the embedding on.
const (
	outlierChannels = 2
	outlierSize     = 30
)

// addOutliers enlarges the first channels of every embedding. The norms divide by the larger
// root mean square, and so the other channels enter each layer that much smaller.
func addOutliers(p *model.Params) {
	d := p.Config.DModel
	for token := range p.Config.Vocab {
		scale(p.Embed[token*d:token*d+outlierChannels], outlierSize)
	}
}

func scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

// measureFurther measures the gap of these models with another order of sums, in both formats.
func measureFurther(e *claim.Env, o *claim.Observation) {
	for _, f := range further {
		p := e.Deep(2, 0, 256, 256)
		f.change(p)
		var k3 []float64
		for _, dtype := range []string{"fp16", "bf16"} {
			rollout, learner := mechanisms[0].pair(dtype)
			_, g := e.Measure(claim.Probe{Params: p, Rollout: rollout, Sequences: e.Pick(48, 8, 2), Tokens: e.Pick(128, 64, 8)}, learner)
			k3 = append(k3, g.K3)
		}
		o.Set(f.name+" k3", k3...)
	}
}

func furtherCheck(name string) string { return "k3, bf16 over fp16, order, " + name }

// furtherNames are the checks that report them, and those of other places of rounding.
func furtherNames() []string {
	var names []string
	for _, f := range further {
		names = append(names, furtherCheck(f.name))
	}
	return append(names, "k3, bf16 over fp16, deep, order", "k3, bf16 over fp16, dense, dtype", "k3, bf16 over fp16, moe, dtype")
}
