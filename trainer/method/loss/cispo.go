package loss

import (
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// CISPO clips the importance weight instead of the objective, so that no token
// loses its gradient.
//
// The paper's use is one-sided: ε_low of 1 or more leaves no lower bound (verl's
// example 10, slime and SkyRL 1). TRL's epsilon_high, and ScaleRL's, is an
// absolute cap with no lower bound: write cap: 5 for it. ROLL's unified mask
// (unified_mask) also drops A>0 tokens above the band and A<0 tokens below it,
// which turns CISPO into a detached PPO clip.
type CISPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"10" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// Cap, if not 0, replaces both bounds by min(r, cap).
	Cap float64 `yaml:"cap" range:"[0,inf]"`
	// UnifiedMask drops what PPO would clip.
	UnifiedMask bool `yaml:"unified_mask"`
	// Level of the ratio: token, or sequence for TRL's geometric mean.
	Level string `yaml:"level" default:"token" oneof:"token sequence"`
	// Anchor is the denominator: old, or roll as SkyRL offers.
	Anchor Anchor `yaml:"anchor" default:"old" oneof:"old roll"`
	// LogClamp bounds the log-ratio; 0 is no bound (TRL, slime, ROLL).
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

var cispoSpec = method.Spec{
	Name: "cispo", Group: "loss", Unit: method.Token,
	Source:   "arXiv:2506.13585 eq. 4; verl cispo, slime, SkyRL, TRL, ROLL",
	Formula:  "L = -sg[clip(r, 1-ε_low, 1+ε_high)]·A·logp, r = exp(logp-anchor)",
	Gradient: "-clip(r, 1-ε_low, 1+ε_high)·A, never zero",
	Needs:    batch.Columns{batch.Advantage}, May: eitherAnchor,
	Example: onTwoResponses + `A = +1: d loss/d logp = -0.200000 -0.136455 -0.200000
A = -1: d loss/d logp = 0.200000 0.136455 0.200000; loss = 0.000000`,
}

// Validate checks the parameters that depend on each other.
func (p *CISPO) Validate() error {
	return check(p.Cap == 0 || !p.UnifiedMask, "unified_mask: needs the band, not cap")
}

// Eval computes the loss over the active tokens.
func (p *CISPO) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, p.Anchor.Column(), batch.Advantage)
	if err != nil {
		return err
	}
	anchor, changed := p.Anchor.Of(in), 0.0
	raw, held := newSpread(), newSpread()
	low, high := 1-p.EpsLow, 1+p.EpsHigh
	if p.Cap > 0 {
		low, high = math.Inf(-1), p.Cap
	}
	term := func(n int, r float64) (value, dlogp float64) {
		a := in.Advantage[n]
		w := clamp(r, low, high)
		f.note(n, "low", "", low)
		f.note(n, "high", "", high)
		changed += count(w != r)
		raw.add(r)
		held.add(w)
		if p.UnifiedMask && (a > 0 && r > high || a < 0 && r < low) {
			return f.drop(n)
		}
		f.note(n, "w", "clip(r, low, high)", w)
		return f.detached(n, a, w, w != r)
	}
	for i := range in.Len() {
		mean, _ := ratio(f.sumLogRatio(i, f.sg, anchor)/max(f.length(i), 1), p.LogClamp)
		f.rowTokens(i, func(n int) (value, dlogp float64) {
			if p.Level == "sequence" {
				f.note(n, "r", "", mean)
				return term(n, mean)
			}
			r, _ := f.ratio(n, "r", p.Anchor.logRatio(), f.sg[n]-anchor[n], p.LogClamp)
			return term(n, r)
		})
	}
	out.Add("actor/pg_clipfrac", f.mean(changed))
	f.addKL(anchor, p.LogClamp)
	raw.log(out, "cispo/ratio_mean", "cispo/ratio_min", "cispo/ratio_max")
	if held.count > 0 {
		out.Add("cispo/ratio_clamped_mean", held.sum/held.count)
	}
	return nil
}
