package loss

import (
	"math"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// MinPRO damps a token by the smallest ratio of its prefix: one step the policy
// has left damps the whole suffix, without a product that grows with length.
//
// The minimum is detached: left live, the gradient of a whole suffix would act on one
// token. Masked tokens are skipped.
type MinPRO struct {
	// Cap bounds the detached weight b_t·r_t; its default is ours.
	Cap float64 `yaml:"cap" default:"20" range:"0=none|[1,inf]"`
	// Variant is plain, or clip for PPO's clip on b_t·r_t.
	Variant string `yaml:"variant" default:"plain" oneof:"plain clip"`
	// EpsLow and EpsHigh are the distances from 1 of variant clip.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// Anchor is the behaviour policy of the ratio.
	Anchor Anchor `yaml:"anchor" default:"old" oneof:"old roll"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *MinPRO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{p.Anchor.Column(), batch.Advantage}, func(f *frame) {
		anchor, clips := p.Anchor.Of(in), 0.0
		for i := range in.Len() {
			smallest := math.Inf(1)
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				b := smallest
				if math.IsInf(b, 1) {
					b = 1
				}
				held, _ := ratio(f.sg[n]-anchor[n], 20)
				smallest = min(smallest, held)
				r, dr := ratio(in.Now.Logp[n]-anchor[n], 20)
				a := in.Advantage[n]
				f.note("b", b)
				if p.Variant == "clip" {
					c := f.clipped(a, b*r, b*dr, 1-p.EpsLow, 1+p.EpsHigh, 0, 0)
					clips += count(c.clipped)
					return c.value, c.dlogp
				}
				if p.Cap > 0 && b*held > p.Cap { // a soft cap: the weight is bounded, the gradient stays
					clips++
					f.took(trace.Capped)
					return f.detached(p.Cap, a, in.Now.Logp[n])
				}
				f.note("r", r)
				return -a * b * r, -a * b * dr
			})
		}
		f.addClipFraction(clips, anchor, 20)
	})
}
