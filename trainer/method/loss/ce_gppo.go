package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// CEGPPO gives the tokens that PPO clips a gradient of constant size, with a
// coefficient for each side.
//
// beta_low = beta_high = 0 has the gradient of PPO, but not its value: the
// clipped terms count 0. beta_low = beta_high = 1 is GPPO. The published scripts
// have a beta_low of 0.5 (1.5B) and 0.75 (7B). The log-ratio is not clamped.
type CEGPPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,1]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// BetaLow and BetaHigh scale the gradient below and above the bounds.
	BetaLow  float64 `yaml:"beta_low" default:"0.25" range:"[0,inf]"`
	BetaHigh float64 `yaml:"beta_high" default:"1" range:"[0,inf]"`
	// DualClip is c.
	DualClip float64 `yaml:"dual_clip" default:"10" range:"0=none|(1,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *CEGPPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		var clips clipCounts
		f.eachToken(func(n int) (value, dlogp float64) {
			a, r := in.Advantage[n], elementary.Exp(in.Now.Logp[n]-in.Anchor[n])
			one := elementary.Exp(in.Now.Logp[n] - f.sg[n]) // r/sg[r], which has a derivative
			f.note("ratio", r)
			switch {
			case a < 0 && r < 1-p.EpsLow:
				f.took(trace.Capped)
				r = float64(p.BetaLow * (1 - p.EpsLow) * one)
				clips.upper++
			case a > 0 && r > 1+p.EpsHigh:
				f.took(trace.Capped)
				r = float64(p.BetaHigh * (1 + p.EpsHigh) * one)
				clips.upper++
			case p.DualClip > 0 && a < 0 && r > p.DualClip:
				clips.lower++
				f.took(trace.DualClipped)
				return -a * p.DualClip, 0
			}
			return f.live(a, r, r)
		})
		f.addClipFractions(clips, in.Anchor, 0)
	})
}
