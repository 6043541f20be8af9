package loss

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// CTPO corrects a token by the ratio of its whole prefix, with a clip that
// widens with the position.
//
// Log-ratios are clamped to ±20, x_t to 10 from above; the gradient flows through the
// current token only. t counts generated tokens.
//
// The prefix product corrects the distribution of the prefix and the token, not of what
// follows: with a terminal reward the estimate is the gradient of
// E[Q_behaviour], not the on-policy gradient. It is exact only if A_t is a
// function of the prefix.
type CTPO struct {
	// Low, High and Dual are lo, hi and d.
	Low  float64 `yaml:"low" default:"0.025" range:"[0,inf]"`
	High float64 `yaml:"high" default:"0.05" range:"[0,inf]"`
	Dual float64 `yaml:"dual" default:"0.05" range:"[0,inf]"`
	// Power is the exponent of t in the bounds: 0.5 for products, -0.5 for means.
	Power float64 `yaml:"power" default:"0.5"`
	// Form is product, or geomean: x_t divided by t.
	Form string `yaml:"form" default:"product" oneof:"product geomean"`
	// RatioClip is the repository's other variant: PPO's clip of R_t, with bounds 1-lo,
	// 1+hi and d at every position.
	RatioClip bool `yaml:"ratio_clip"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Validate checks the parameters that depend on each other.
func (p *CTPO) Validate() error {
	return check(!p.RatioClip || p.Dual == 0 || p.Dual > 1, "dual %v: with ratio_clip it is a ratio: must be 0 or above 1", p.Dual)
}

// Eval computes the loss over the active tokens.
func (p *CTPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		s := prefixTally{ratios: newSpread(), scales: newSpread()}
		for i := range in.Len() {
			sum, position := 0.0, 0.0
			f.rowTokens(i, func(n int) (value, dlogp float64) {
				position++
				sum += clamp(f.sg[n]-in.Anchor[n], -20, 20)
				x := sum
				if p.Form == "geomean" {
					x /= position
				}
				return p.token(f, n, x, position, &s)
			})
		}
		s.log(f)
		f.addKL(in.Anchor, 0)
	})
}

// token is the term of token n at a position, its prefix log-ratio x detached but for
// the token's own log-prob.
func (p *CTPO) token(f *frame, n int, x, position float64, s *prefixTally) (value, dlogp float64) {
	if x <= sequenceCap {
		x += f.in.Now.Logp[n] - f.sg[n]
	}
	a := f.in.Advantage[n]
	r, dr := cappedExp(x, sequenceCap)
	low, high, dual := p.bounds(position)
	c := f.clipped(a, r, dr, low, high, dual, 0)
	if !p.RatioClip {
		s.scales.add(elementary.Pow(position, p.Power))
		s.lows.add(low)
		s.highs.add(high)
		s.duals.add(dual)
	}
	s.add(a, r, low, high, c.dual)
	return c.value, c.dlogp
}

// bounds are the bounds of the ratio at a position.
func (p *CTPO) bounds(position float64) (low, high, dual float64) {
	if p.RatioClip {
		return 1 - p.Low, 1 + p.High, p.Dual
	}
	scale := elementary.Pow(position, p.Power)
	return elementary.Exp(-p.Low * scale), elementary.Exp(p.High * scale), elementary.Exp(p.Dual * scale)
}

// prefixTally collects what CTPO's code logs of its ratios.
type prefixTally struct {
	ratios, scales, lows, highs, duals spread
	high, low, dual, negative          float64
}

func (s *prefixTally) add(a, r, low, high float64, dual bool) {
	s.ratios.add(r)
	s.high += count(a > 0 && r > high)
	s.low += count(a < 0 && r < low)
	s.dual += count(dual)
	s.negative += count(a < 0)
}

// log writes the figures under the names of the authors' code.
func (s *prefixTally) log(f *frame) {
	s.ratios.log(f.out, "pg_update/is_ratio/mean", "pg_update/is_ratio/min", "pg_update/is_ratio/max")
	s.scales.log(f.out, "pg_update/la_scale/mean", "pg_update/la_scale/min", "pg_update/la_scale/max")
	if s.scales.count > 0 {
		f.out.Add("pg_update/la_clip_low_ratio/mean", s.lows.sum/s.lows.count)
		f.out.Add("pg_update/la_clip_high_ratio/mean", s.highs.sum/s.highs.count)
		f.out.Add("pg_update/la_clip_c_ratio/mean", s.duals.sum/s.duals.count)
	}
	f.out.Add("pg_update/clip/high/count", s.high)
	f.out.Add("pg_update/clip/low/count", s.low)
	f.out.Add("pg_update/clip/dual/count", s.dual)
	f.out.Add("pg_update/clip/total/count", s.high+s.low+s.dual)
	tokens := max(f.tokens, 1)
	f.out.Add("pg_update/clip/high/rate", s.high/tokens)
	f.out.Add("pg_update/clip/low/rate", s.low/tokens)
	f.out.Add("pg_update/clip/dual/rate", s.dual/tokens)
	f.out.Add("pg_update/clip/total/rate", (s.high+s.low+s.dual)/tokens)
	f.out.Add("pg_update/clip/valid_token_count", f.tokens)
	f.out.Add("pg_update/clip/neg_adv_token_count", s.negative)
}
