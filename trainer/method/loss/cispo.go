package loss

import (
	"math"

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

// Validate checks the parameters that depend on each other.
func (p *CISPO) Validate() error {
	return check(p.Cap == 0 || !p.UnifiedMask, "unified_mask: needs the band, not cap")
}

// Eval computes the loss over the active tokens.
func (p *CISPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{p.Anchor.Column(), batch.Advantage}, func(f *frame) {
		anchor, changed := p.Anchor.Of(in), 0.0
		raw, held := newSpread(), newSpread()
		low, high := 1-p.EpsLow, 1+p.EpsHigh
		if p.Cap > 0 {
			low, high = math.Inf(-1), p.Cap
		}
		for i := range in.Len() {
			mean, _ := ratio(f.sumLogRatio(i, f.sg, anchor)/max(f.length(i), 1), p.LogClamp) // geometric
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				r, a := mean, in.Advantage[n]
				if p.Level == "token" {
					r, _ = ratio(f.sg[n]-anchor[n], p.LogClamp)
				}
				w := clamp(r, low, high)
				changed += count(w != r)
				raw.add(r)
				held.add(w)
				f.weighed(r, w)
				if p.UnifiedMask && (a > 0 && r > high || a < 0 && r < low) {
					return f.drop()
				}
				return f.detached(w, a, in.Now.Logp[n])
			})
		}
		f.addClipFraction(changed, anchor, p.LogClamp)
		raw.log(out, "cispo/ratio_mean", "cispo/ratio_min", "cispo/ratio_max")
		if held.count > 0 {
			out.Add("cispo/ratio_clamped_mean", held.sum/held.count)
		}
	})
}

// DISPO clips the detached importance weight by bounds that depend on whether
// the response is correct, so that four regimes can be tuned separately: correct or
// incorrect, weight above or below 1.
//
// (The survey derives the regimes from the sign of A and the label.) No token
// loses its gradient. The defaults are ours and neutral: CISPO's for all four.
type DISPO struct {
	// CorrectLow and CorrectHigh are the distances from 1 for correct responses.
	CorrectLow  float64 `yaml:"correct_low" default:"1" range:"[0,inf]"`
	CorrectHigh float64 `yaml:"correct_high" default:"4" range:"[0,inf]"`
	// IncorrectLow and IncorrectHigh are those for incorrect ones.
	IncorrectLow  float64 `yaml:"incorrect_low" default:"1" range:"[0,inf]"`
	IncorrectHigh float64 `yaml:"incorrect_high" default:"4" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *DISPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage, batch.Correct}, func(f *frame) {
		changed := 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			low, high := 1-p.IncorrectLow, 1+p.IncorrectHigh
			if in.Correct[f.row] {
				low, high = 1-p.CorrectLow, 1+p.CorrectHigh
			}
			r, _ := ratio(f.sg[n]-in.Anchor[n], 20)
			w := clamp(r, low, high)
			changed += count(w != r)
			f.weighed(r, w)
			return f.detached(w, in.Advantage[n], in.Now.Logp[n])
		})
		f.addClipFraction(changed, in.Anchor, 20)
	})
}

// AIPO is LlamaRL's asynchronous importance-weighted policy optimisation: the
// detached weight against the rollout policy, capped from above only.
//
// Later implementations quote it with c between 2 and 10. There is no lower
// bound and no token loses its gradient.
type AIPO struct {
	// Cap is c; its default is ours.
	Cap float64 `yaml:"cap" default:"4" range:"[1,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *AIPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.LogpRoll, batch.Advantage}, func(f *frame) {
		cut := 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			r, _ := ratio(f.sg[n]-in.LogpRoll[n], 20)
			w, above := f.capped(r, p.Cap)
			cut += count(above)
			return f.detached(w, in.Advantage[n], in.Now.Logp[n])
		})
		f.addClipFraction(cut, in.LogpRoll, 20)
	})
}
