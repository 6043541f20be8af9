package loss

import (
	"fmt"
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// PPOClip is the clipped surrogate of PPO with separate bounds, an optional
// dual clip and an optional cap on the unclipped ratio.
//
// The dual clip acts where r is large on a negative advantage. verl, slime and
// SkyRL agree on it; AReaL writes sign(A)·c·A, the same thing. verl clamps the
// log-ratio to ±20 inside the graph; TRL, slime and AReaL do not clamp: set
// log_clamp to 0 to do as they do.
type PPOClip struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1; DAPO has 0.2 and 0.28.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// DualClip is c.
	DualClip float64 `yaml:"dual_clip" default:"3" range:"0=none|(1,inf]"`
	// Delta caps the ratio of the unclipped branch, of use above 1+EpsHigh.
	Delta float64 `yaml:"delta" range:"0=none|[1,inf]"`
	// LogClamp bounds the log-ratio; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
	// Centering subtracts the expected gradient under the sampler for equal advantages; without the section nothing is subtracted.
	Centering *Centering `yaml:"centering"`
}

// Eval computes the loss over the active tokens.
func (p *PPOClip) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		c := centering{Centering: p.Centering, tau: 1, old: true, slope: p.slope}
		if f.err = c.prepare(f); f.err != nil {
			return
		}
		var clips clipCounts
		f.eachToken(func(n int) (value, dlogp float64) {
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
			value, dlogp = clips.add(f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, p.Delta))
			if p.Centering == nil {
				return value, dlogp
			}
			w := c.weight(elementary.Exp(in.Anchor[n] - in.LogpRoll[n]))
			return c.add(f, n, float64(w*value), w*dlogp)
		})
		c.log(f)
		f.addClipFractions(clips, in.Anchor, p.LogClamp)
	})
}

// slope is the derivative of the clipped ratio with respect to the log-prob, for a token with probability prob under the
// current policy and o under the old one.
func (p *PPOClip) slope(a, prob, o, _ float64) float64 {
	if o == 0 {
		return 0
	}
	r, sign := prob/o, math.Copysign(1, a)
	dr := r
	if p.LogClamp > 0 && math.Abs(elementary.Log(r)) > p.LogClamp {
		dr = 0
	}
	return -sign * clipped(sign, r, dr, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, p.Delta).dlogp
}

// check returns an error with the message if the condition fails.
func check(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
