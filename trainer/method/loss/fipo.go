package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// FIPO weights each token of PPO's loss by its influence on the rest of the
// response: the exponential of the discounted sum of the log-ratios from that
// token on.
//
// Positions that are masked add nothing, but count as distance. The influence and
// the safety test are detached. On-policy every influence is 1.
type FIPO struct {
	// EpsLow and EpsHigh are the distances of the bounds of the ratio from 1.
	EpsLow  float64 `yaml:"eps_low" default:"0.2" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"0.2" range:"[0,inf]"`
	// Delta caps the ratio of the unclipped branch; a token with a larger ratio
	// does not enter the influence.
	Delta float64 `yaml:"delta" range:"0=none|[1,inf]"`
	// HalfLife is the number of tokens after which a log-ratio counts half.
	HalfLife float64 `yaml:"half_life" default:"32" range:"(0,inf)"`
	// ClipRange bounds the influence to 1 ± ClipRange, or from 1 on with ClipHighOnly.
	ClipRange    float64 `yaml:"clip_range" default:"0.2" range:"0=none|(0,1]"`
	ClipHighOnly bool    `yaml:"clip_high_only" default:"true"`
	// SafetyThreshold is the ratio above which a token with A < 0 has an influence of
	// 0.8 to 1.
	SafetyThreshold float64 `yaml:"safety_threshold" default:"4" range:"0=none|(0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *FIPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		future, influence := out.work(1, in.Tokens()), out.work(2, in.Tokens())
		unsafe := p.influence(f, future, influence)
		var clips clipCounts
		futures, influences := 0.0, 0.0
		f.eachToken(func(n int) (value, dlogp float64) {
			futures += future[n]
			influences += influence[n]
			f.note("future", future[n])
			f.note("f", influence[n])
			r, dr := ratio(in.Now.Logp[n]-in.Anchor[n], 0)
			value, dlogp = clips.add(f.clipped(in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, 0, p.Delta))
			return influence[n] * value, influence[n] * dlogp
		})
		f.addClipFractions(clips, in.Anchor, 0)
		out.Add("fipo/future_kl_mean", futures/max(f.tokens, 1))
		out.Add("fipo/influence_weight_mean", influences/max(f.tokens, 1))
		out.Add("fipo/safety_keep_ratio", 1-unsafe/max(f.tokens, 1))
	})
}

// influence fills the discounted sum of future log-ratios and the influence of every
// active token, and counts the tokens above the safety threshold.
func (p *FIPO) influence(f *frame, future, influence []float64) (unsafe float64) {
	gamma := elementary.Exp(-elementary.Log(2) / p.HalfLife)
	for i := range f.in.Len() {
		from, to := f.in.Span(i)
		sum := 0.0
		for n := to - 1; n >= from; n-- {
			sum = float64(gamma * sum)
			if !f.active[n] {
				continue
			}
			lr := f.sg[n] - f.in.Anchor[n]
			r := elementary.Exp(lr)
			if p.Delta == 0 || r <= p.Delta {
				sum += lr
			}
			future[n], influence[n] = sum, p.bounded(elementary.Exp(sum))
			if p.SafetyThreshold > 0 && f.in.Advantage[n] < 0 && r > p.SafetyThreshold {
				influence[n] = clamp(influence[n], 0.8, 1)
				unsafe++
			}
		}
	}
	return unsafe
}

// bounded is an influence within the clip range.
func (p *FIPO) bounded(influence float64) float64 {
	switch {
	case p.ClipRange == 0:
		return influence
	case p.ClipHighOnly:
		return clamp(influence, 1, 1+p.ClipRange)
	}
	return clamp(influence, 1-p.ClipRange, 1+p.ClipRange)
}
