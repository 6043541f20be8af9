package loss

import (
	"fmt"

	"driftlab/trainer/method"
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
}

var ppoClipSpec = method.Spec{
	Name:     "ppo_clip",
	Aliases:  []string{"ppo", "vanilla", "grpo", "dual_clip", "clip_higher"},
	Group:    "loss",
	Unit:     method.Token,
	Source:   "arXiv:1707.06347, 1912.09729 (dual clip), 2503.14476 (clip-higher), 2505.07291 (delta); verl vanilla, TRL, slime, SkyRL, AReaL, ROLL",
	Formula:  "L = max(-A·min(r,δ), -A·clip(r, 1-ε_low, 1+ε_high)); A<0: min(L, -A·c); r = exp(logp-old)",
	Gradient: "-A·r, or 0 where A>0 and r>1+ε_high, where A<0 and r<1-ε_low, where A<0 and r>min(c,δ)",
	Needs:    batch.Columns{batch.Anchor, batch.Advantage},
	Example: onTwoResponses + `A = +1: d loss/d logp = 0.000000 -0.136455 0.000000
A = -1: d loss/d logp = 0.203567 0.136455 0.274787; loss = 0.078354`,
}

// Eval computes the loss over the active tokens.
func (p *PPOClip) Eval(out *Grad, in *batch.Batch) error {
	f, err := start(out, in, p.Aggregation, batch.Anchor, batch.Advantage)
	if err != nil {
		return err
	}
	upper, lower := 0.0, 0.0
	f.eachToken(func(n int) (value, dlogp float64) {
		r, dr := f.ratio(n, "r", "logp - old", in.Now.Logp[n]-in.Anchor[n], p.LogClamp)
		c := f.clip(n, "r", in.Advantage[n], r, dr, 1-p.EpsLow, 1+p.EpsHigh, p.DualClip, p.Delta)
		upper += count(c.clipped)
		lower += count(c.dual)
		return c.value, c.dlogp
	})
	f.addClipFractions(upper, lower, in.Anchor, p.LogClamp)
	return nil
}

// surrogate is the clipped objective of one token.
type surrogate struct {
	value, dlogp  float64
	clipped, dual bool
}

// clipped evaluates PPO's surrogate at ratio r with derivative dr. Where two
// branches tie, automatic differentiation gives each half the gradient, and so
// does this: inside the band both are the same, so nothing is lost on-policy.
func clipped(a, r, dr, low, high, dualClip, delta float64) surrogate {
	free, dfree := r, dr
	if delta > 0 && r > delta {
		free, dfree = delta, 0
	}
	bound, dbound := clamp(r, low, high), dr
	if r < low || r > high {
		dbound = 0
	}
	l1, l2 := -a*free, -a*bound
	s := surrogate{clipped: l2 > l1}
	s.value, s.dlogp = pick(l1 > l2, l1, float64(-a*dfree), l2, float64(-a*dbound))
	if dualClip > 0 && a < 0 {
		l3 := -a * dualClip
		s.dual = s.value > l3
		s.value, s.dlogp = pick(s.value < l3, s.value, s.dlogp, l3, 0)
	}
	return s
}

// pick returns x if first, y if not, and half of each derivative if they tie.
func pick(first bool, x, dx, y, dy float64) (value, derivative float64) {
	switch {
	case x == y:
		return x, (dx + dy) / 2
	case first:
		return x, dx
	}
	return y, dy
}

// addClipFractions logs what verl logs for its clipped losses.
func (f *frame) addClipFractions(upper, lower float64, anchor []float64, limit float64) {
	f.out.Add("actor/pg_clipfrac", f.mean(upper))
	f.addKL(anchor, limit)
	f.out.Add("actor/pg_clipfrac_lower", f.mean(lower))
}

// check returns an error with the message if the condition fails.
func check(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}
