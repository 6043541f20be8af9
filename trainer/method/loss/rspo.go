package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// RSPO is PPO's clip of a ratio that the drift of the routers makes smaller: the router-shift ratio γ compares, on the
// experts that the old policy visited, the routers' probabilities over all experts in both policies.
//
// γ is a constant; the source's runs in which it has a gradient collapse after some 40 steps. The clip sees
// γ·r: with a floor of 0.8 a token whose router has moved far is at the lower bound of 0.2 as soon as r is 1. Two
// forks of verl take the mean over experts of exp(-|d|) and then the product over layers, or their geometric mean, and mask
// tokens below 0.7. In a dense model γ is 1, and the loss ppo_clip. Notes on the first version of the paper multiply
// GMPO's factor by γ; here the second version stands.
type RSPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// Form of γ over experts and layers: mean, exp of the mean of -|d|; product or geometric, of the experts' mean of exp(-|d|).
	Form string `yaml:"form" default:"mean" oneof:"mean product geometric"`
	// Floor is the least γ.
	Floor float64 `yaml:"floor" default:"0.8" range:"[0,1]"`
	// Threshold, if not 0, leaves out the tokens whose γ is below it.
	Threshold float64 `yaml:"threshold" range:"[0,1]"`
	// LogClamp bounds the log-ratio; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-mean"`
}

// leastRouter is the floor of a probability of a router under the logarithm, in the source.
const leastRouter = 1e-8

// shift is γ of token n before the floor.
func (p *RSPO) shift(in *batch.Batch, n int) float64 {
	floor, gamma := elementary.Log(leastRouter), 0.0
	for layer := n * in.Layers; layer < (n+1)*in.Layers; layer++ {
		sum := 0.0
		for at := layer * in.TopK; at < (layer+1)*in.TopK; at++ {
			d := math.Abs(max(in.Now.RouterLogp[at], floor) - max(in.Old.RouterLogp[at], floor))
			if p.Form == "mean" {
				sum -= d
			} else {
				sum += elementary.Exp(-d)
			}
		}
		if sum /= float64(in.TopK); p.Form != "mean" {
			sum = elementary.Log(sum)
		}
		gamma += sum
	}
	if p.Form != "product" {
		gamma /= float64(max(in.Layers, 1))
	}
	return elementary.Exp(gamma)
}

// Eval computes the loss over the active tokens.
func (p *RSPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage, batch.RoutesOld, batch.RouterOld, batch.RouterNow}, func(f *frame) {
		var clips clipCounts
		raw, used, floored := 0.0, 0.0, 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			gamma := p.shift(in, n)
			raw += gamma
			floored += count(gamma < p.Floor)
			f.note("γ", gamma)
			if gamma < p.Threshold {
				return f.reject(n)
			}
			gamma = max(gamma, p.Floor)
			used += gamma
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
			return clips.add(f.clipped(in.Advantage[n], gamma*r, gamma*dr, 1-p.EpsLow, 1+p.EpsHigh, 0, 0))
		})
		f.addClipFractions(clips, in.Anchor, p.LogClamp)
		out.Add("router_shift/raw_gamma_mean", f.mean(raw))
		out.Add("router_shift/weight_mean", f.mean(used))
		out.Add("router_shift/floor_fraction", f.mean(floored))
	})
}
