package loss

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// DPPO masks the tokens whose update would push their probability further out
// of a band in divergence, and weights the rest by a capped, detached ratio.
//
// The official anchor is the rollout policy, and its recompute variants, like
// verl, compare with old: anchor sets the denominator of the ratio, mask_anchor
// the band's. The cap is 20 in the survey, 10 in Stable-RL; verl's default of 20
// never fires, because clip_ratio_c is 3. SkyRL keeps the ratio in the graph
// without a cap (live_ratio): the same gradient, another value.
type DPPO struct {
	// DeltaLow and DeltaHigh are the band: probabilities for tv, nats for kl.
	DeltaLow  float64 `yaml:"delta_low" default:"0.15" range:"[0,inf]"`
	DeltaHigh float64 `yaml:"delta_high" default:"0.15" range:"[0,inf]"`
	// Cap is c; 0 is none.
	Cap float64 `yaml:"cap" default:"20" range:"0=none|[1,inf]"`
	// LiveRatio leaves r in the graph, uncapped.
	LiveRatio bool `yaml:"live_ratio"`
	// LogClamp bounds the log-ratio; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Anchor is the denominator of the ratio.
	Anchor Anchor `yaml:"anchor" default:"roll" oneof:"old roll"`
	// MaskAnchor is the policy the band is measured against.
	MaskAnchor Anchor `yaml:"mask_anchor" default:"roll" oneof:"old roll"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`

	outside func(logp, anchor, a, low, high float64) bool
}

// NewDPPOTV returns the binary total-variation form, δ = 0.15.
func NewDPPOTV() *DPPO {
	p := method.New[DPPO]()
	p.outside = outsideTV
	return p
}

// NewDPPOKL returns the binary KL form, δ = 0.05.
func NewDPPOKL() *DPPO {
	p := method.New[DPPO]()
	p.DeltaLow, p.DeltaHigh, p.outside = 0.05, 0.05, outsideKL
	return p
}

// NewPPOMask returns PPO's own rule in the same detached form: Stable-RL's
// baseline, 0.2 and 0.28.
func NewPPOMask() *DPPO {
	p := method.New[DPPO]()
	p.DeltaLow, p.DeltaHigh, p.outside = 0.2, 0.28, outsideRatio
	return p
}

// Eval computes the loss over the active tokens.
func (p *DPPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{p.Anchor.Column(), p.MaskAnchor.Column(), batch.Advantage}, func(f *frame) {
		anchor, band := p.Anchor.Of(in), p.MaskAnchor.Of(in)
		masked, negative, cut := 0.0, 0.0, 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			a := in.Advantage[n]
			if p.outside(f.sg[n], band[n], a, p.DeltaLow, p.DeltaHigh) {
				masked++
				negative += count(a <= 0)
				return f.drop()
			}
			r, _ := ratio(f.sg[n]-anchor[n], p.LogClamp)
			w, above := f.capped(r, p.Cap)
			cut += count(above)
			if p.LiveRatio {
				r, dr := ratio(in.Now.Logp[n]-anchor[n], p.LogClamp)
				return f.live(a, r, dr)
			}
			return f.detached(w, a, in.Now.Logp[n])
		})
		f.addClipFraction(masked, anchor, p.LogClamp)
		out.Add("actor/pg_clipfrac_lower", f.mean(cut))
		out.Add("dppo/masked_negative", f.mean(negative))
	})
}

// outsideTV is the mask of total variation of {token, rest}.
func outsideTV(logp, anchor, a, low, high float64) bool {
	d := elementary.Exp(logp) - elementary.Exp(anchor)
	if a > 0 {
		return d > high
	}
	return d < -low
}

// outsideRatio is PPO's rule as a mask.
func outsideRatio(logp, anchor, a, low, high float64) bool {
	r, _ := ratio(logp-anchor, 20)
	if a > 0 {
		return r > 1+high
	}
	return r < 1-low
}

// outsideKL is the mask of KL(anchor‖current) of the two outcomes {token, rest}. The 1e-8
// of Stable-RL, verl and SkyRL keeps a probability of 1 harmless.
func outsideKL(logp, anchor, a, low, high float64) bool {
	p, q := elementary.Exp(logp), elementary.Exp(anchor)
	b := float64(q*(anchor-logp)) + float64((1-q)*elementary.Log((1-q+1e-8)/(1-p+1e-8)))
	if a > 0 {
		return b > high && logp > anchor
	}
	return b > low && logp < anchor
}

// DPPOTopK is DPPO with the divergence of the K likeliest tokens and a bucket
// for the rest, in place of {token, rest}.
//
// q is the rollout policy, p the current one. The buckets are the K largest of q and the
// sampled token, each alone, and the rest; outwards is p > q with A > 0, p < q with A ≤ 0.
type DPPOTopK struct {
	// K is the number of likeliest tokens that have a bucket each.
	K int `yaml:"k" default:"20" range:"[1,inf]"`
	// Divergence is kl, Σ q·log(q/p), or tv, (1/2)·Σ |p - q|.
	Divergence string `yaml:"divergence" default:"kl" oneof:"kl tv"`
	// DeltaLow and DeltaHigh are δ for A ≤ 0 and A > 0.
	DeltaLow  float64 `yaml:"delta_low" default:"0.05" range:"[0,inf]"`
	DeltaHigh float64 `yaml:"delta_high" default:"0.05" range:"[0,inf]"`
	// Cap is c; 0 is none.
	Cap float64 `yaml:"cap" default:"20" range:"0=none|[1,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *DPPOTopK) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.LogpRoll, batch.Advantage, batch.DistRoll, batch.Dist, batch.Token}, func(f *frame) {
		masked := 0.0
		taken := out.work(1, in.Vocab)
		f.eachToken(func(n int) (value, dlogp float64) {
			if p.leaves(in, n, taken) {
				masked++
				return f.drop()
			}
			r, _ := ratio(f.sg[n]-in.LogpRoll[n], 20)
			w, _ := f.capped(r, p.Cap)
			return f.detached(w, in.Advantage[n], in.Now.Logp[n])
		})
		f.addClipFraction(masked, in.LogpRoll, 20)
	})
}

// leaves reports whether token n moves outwards, beyond δ. taken is memory for the vocabulary.
func (p *DPPOTopK) leaves(in *batch.Batch, n int, taken []float64) bool {
	token, at := in.Token[n], n*in.Vocab
	q, cur := in.DistRoll[at:at+in.Vocab], in.Now.Dist[at:at+in.Vocab]
	outwards, delta := cur[token] > q[token], p.DeltaHigh
	if in.Advantage[n] <= 0 {
		outwards, delta = cur[token] < q[token], p.DeltaLow
	}
	return outwards && p.distance(taken, q, cur, int(token)) > delta
}

// distance is the divergence of the buckets of two rows of log-probs.
func (p *DPPOTopK) distance(taken []float64, logq, logp []float32, sampled int) float64 {
	clear(taken)
	restQ, restP, d := 1.0, 1.0, 0.0
	add := func(q, pr float64) {
		if p.Divergence == "tv" {
			d += float64(math.Abs(pr-q) / 2)
		} else if q > 0 {
			d += float64(q * elementary.Log((q+1e-8)/(pr+1e-8)))
		}
	}
	for range min(p.K, len(logq)) {
		token := -1 // the likeliest that is left
		for a := range logq {
			if taken[a] == 0 && (token < 0 || logq[a] > logq[token]) {
				token = a
			}
		}
		taken[token] = 1
	}
	taken[sampled] = 1
	for a, in := range taken {
		if in == 0 {
			continue
		}
		q, pr := elementary.Exp(float64(logq[a])), elementary.Exp(float64(logp[a]))
		restQ, restP = restQ-q, restP-pr
		add(q, pr)
	}
	add(max(restQ, 0), max(restP, 0))
	return d
}
