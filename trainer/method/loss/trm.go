package loss

import (
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// TRM admits a response to an importance-weighted loss only if the policies
// agree at every token: a trust region by masking.
//
// The bound of the paper is one of an average over all responses, so rejected
// ones count as zeros: the aggregation runs over the mask before this rejection.
// k2 and k3 are verl's seq_max modes in bypass. The criterion does not sum over
// tokens, yet a maximum over more of them rejects long responses more often.
type TRM struct {
	// Delta is the largest divergence of a token.
	Delta float64 `yaml:"delta" default:"0.05" range:"[0,inf]"`
	// Divergence is exact, k2 or k3.
	Divergence string `yaml:"divergence" default:"exact" oneof:"exact k2 k3"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens of admitted responses.
func (p *TRM) Eval(out *Grad, in *batch.Batch) error {
	exact := p.Divergence == "exact"
	needs := batch.Columns{batch.LogpRoll, batch.Advantage, either(exact, batch.DistRoll, batch.LogpRoll), either(exact, batch.Dist, batch.LogpRoll)}
	return withFrame(out, in, p.Aggregation, needs, func(f *frame) {
		admitted := 0.0
		for i := range in.Len() {
			if p.largest(f, i) > p.Delta {
				for n := range in.Where(i, f.active) {
					f.reject(n)
				}
				continue
			}
			admitted++
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				r, dr := ratio(in.Now.Logp[n]-in.LogpRoll[n], 20)
				return f.live(in.Advantage[n], r, dr)
			})
		}
		out.Add("trm/admitted", admitted/max(float64(in.Len()), 1))
		f.addKL(in.LogpRoll, 20)
	})
}

// largest is the largest divergence of a token of response i, 0 if it has none.
func (p *TRM) largest(f *frame, i int) float64 {
	largest := 0.0
	for n := range f.in.Where(i, f.active) {
		d := 0.0
		switch p.Divergence {
		case "exact":
			at := n * f.in.Vocab
			d = klRow(nil, f.in.DistRoll[at:at+f.in.Vocab], f.in.Now.Dist[at:at+f.in.Vocab], 0)
		case "k2":
			d, _ = K2.At(f.sg[n]-f.in.LogpRoll[n], KLBounds{})
		case "k3": // of KL(mu‖π) from samples of mu: exp(l) - 1 - l
			d, _ = k3(clamp(f.sg[n]-f.in.LogpRoll[n], -20, 20), KLBounds{})
		}
		largest = max(largest, d)
	}
	return largest
}

// SAT is PPO's clip whose range shrinks where a token is far from its anchor.
//
// d, the log of the ratio, is detached here. The bound on the side of its sign moves towards
// 1, by a factor k that falls with |d| above a quantile q of the batch; the other bound
// stays. Where q = 0 it is PPO's clip. The paper's ratio is to the rollout policy: that is
// the anchor rollout.
type SAT struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1 at |d| ≤ q.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,1]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// Quantile is the share of the active tokens whose range stays.
	Quantile float64 `yaml:"quantile" default:"0.9" range:"[0,1]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *SAT) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		var clips clipCounts
		q := p.start(f)
		gated, below, above, distance, least := 0.0, 0.0, 0.0, 0.0, 1.0
		f.eachToken(func(n int) (value, dlogp float64) {
			k, low, high := p.bounds(f, n, q)
			gated += count(k < 1)
			least = min(least, k)
			below, above, distance = below+(1-low), above+(high-1), distance+math.Abs(f.sg[n]-in.Anchor[n])
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], 20)
			return clips.add(f.clipped(in.Advantage[n], r, dr, low, high, 0, 0))
		})
		f.addClipFractions(clips, in.Anchor, 20)
		out.Add("sat/gate_rate", f.mean(gated))
		out.Add("sat/min_factor", least)
		out.Add("sat/radius_low", f.mean(below))
		out.Add("sat/radius_high", f.mean(above))
		out.Add("sat/abs_log_ratio", f.mean(distance))
	})
}

// start is the quantile of |d| over the active tokens, 0 without one.
func (p *SAT) start(f *frame) float64 {
	distances := f.out.work(1, f.in.Tokens())[:0]
	for n := range masked.Kept(f.active) {
		distances = append(distances, math.Abs(f.sg[n]-f.in.Anchor[n]))
	}
	return quantile(distances, p.Quantile)
}

// bounds are the factor of token n, where the kernel begins at q, and the bounds of its clip.
func (p *SAT) bounds(f *frame, n int, q float64) (k, low, high float64) {
	k, low, high = 1, 1-p.EpsLow, 1+p.EpsHigh
	d := f.sg[n] - f.in.Anchor[n]
	if over := math.Abs(d) - q; q > 0 && over > 0 {
		k = 1 / (1 + float64(over/q*(over/q)))
	}
	if d < 0 {
		return k, 1 - float64(p.EpsLow*k), high
	}
	return k, low, 1 + float64(p.EpsHigh*k)
}
