package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// SAPO replaces the clip by a sigmoid gate around r = 1, with a faster decay
// for negative advantages.
//
// The weight on grad logp is r·g'(r), not g'(r) alone. verl and SkyRL clamp the
// log-ratio to ±20, AReaL and TRL do not; AReaL's anchor is the rollout policy.
// The paper's aggregation is seq-mean-token-mean.
type SAPO struct {
	// TauPos and TauNeg are the temperatures for A > 0 and for A ≤ 0.
	TauPos float64 `yaml:"tau_pos" default:"1" range:"(0,inf]"`
	TauNeg float64 `yaml:"tau_neg" default:"1.05" range:"(0,inf]"`
	// Level of the ratio: token, or sequence for the geometric mean that TRL and
	// AReaL offer.
	Level string `yaml:"level" default:"token" oneof:"token sequence"`
	// MeanAdvantage replaces the tokens' advantages by their mean per response,
	// as AReaL does at level sequence.
	MeanAdvantage bool `yaml:"mean_advantage"`
	// Anchor is the denominator of the ratio.
	Anchor Anchor `yaml:"anchor" default:"old" oneof:"old roll"`
	// LogClamp bounds the log-ratio; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-mean"`
}

// Eval computes the loss over the active tokens.
func (p *SAPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{p.Anchor.Column(), batch.Advantage}, func(f *frame) {
		anchor := p.Anchor.Of(in)
		for i := range in.Len() {
			length := max(f.length(i), 1)
			r, dr := ratio(f.sumLogRatio(i, in.Now.Logp, anchor)/length, p.LogClamp)
			mean, slope := f.meanAdvantage(i, length), 0.0 // slope: d loss/d mean log-ratio
			for n := range in.Where(i, f.active) {
				a, w := either(p.MeanAdvantage, mean, in.Advantage[n]), f.weight(i, n)
				if p.Level == "token" {
					r, dr = ratio(in.Now.Logp[n]-anchor[n], p.LogClamp)
				}
				f.begin(n)
				f.note("A", a)
				f.note("r", r)
				if dr == 0 {
					f.took(trace.Clamped)
				}
				tau := either(a > 0, p.TauPos, p.TauNeg)
				s := sigmoid(tau * (r - 1))
				value, d := -4/tau*s*a, -4*s*(1-s)*a // -(4/τ)·σ(τ(r-1))·A and its derivative with respect to r
				f.add(n, w, float64(w*value))
				if p.Level == "token" {
					out.DLogp[n] += float64(w * d * dr)
				} else {
					slope += float64(w * d * dr)
				}
			}
			if p.Level == "sequence" {
				f.spread(i, slope/length)
			}
		}
		f.addKL(anchor, p.LogClamp)
	})
}

// sigmoid is 1/(1+exp(-x)), without overflow.
func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + elementary.Exp(-x))
	}
	e := elementary.Exp(x)
	return e / (1 + e)
}
