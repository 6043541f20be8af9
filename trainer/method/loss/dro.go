package loss

import (
	"cmp"
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// DRO is direct reward optimisation, the policy half: a policy gradient with a
// quadratic pull towards the old policy, both per token.
//
// verl uses the estimated advantage where the paper learns a value.
type DRO struct {
	// Beta is the strength of the pull, above 0.
	Beta float64 `yaml:"beta" default:"1" range:"(0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
}

// Eval computes the loss over the active tokens.
func (p *DRO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.Anchor, batch.Advantage}, func(f *frame) {
		f.eachToken(func(n int) (value, dlogp float64) {
			a, lr := in.Advantage[n], in.Now.Logp[n]-in.Anchor[n]
			return -(float64(a*in.Now.Logp[n]) - float64(p.Beta/2*lr*lr)), -(a - float64(p.Beta*lr))
		})
		f.addKL(in.Anchor, 0)
	})
}

// IPO is prime-rl's symmetric variant: a token is dropped when its probability
// has moved too far, whichever way and whatever the advantage.
//
// Otherwise as PrimeDPPO.
type IPO struct {
	// Delta is the largest change of probability.
	Delta float64 `yaml:"delta" default:"0.1" range:"[0,inf]"`
	// AdvTau and KLTau weigh the two terms.
	AdvTau float64 `yaml:"adv_tau" default:"1" range:"[0,inf]"`
	KLTau  float64 `yaml:"kl_tau" default:"1e-3" range:"[0,inf]"`
	// Cap bounds the ratio of a kept token and keeps its gradient; prime-rl of November 2026 has 1e4, delta 0.3 and kl_tau 0.
	Cap float64 `yaml:"cap" range:"0=none|[1,inf]"`
	// LogClamp bounds the log-ratio inside the exponential; 0 is no bound.
	LogClamp float64 `yaml:"log_clamp" default:"20" range:"[0,inf]"`
	// Aggregation over tokens.
	Aggregation Aggregation `yaml:"aggregation"`
	// Centering subtracts the expected gradient under the sampler for equal advantages, without that of the squared log-ratio;
	// without the section nothing is subtracted. The correction acts on dropped tokens too.
	Centering *ExactCentering `yaml:"centering"`
}

// Eval computes the loss over the active tokens.
func (p *IPO) Eval(out *Grad, in *batch.Batch) error {
	return withFrame(out, in, p.Aggregation, batch.Columns{batch.LogpRoll, batch.Advantage}, func(f *frame) {
		c := centering{tau: p.AdvTau, noTail: true, slope: p.slope}
		if p.Centering != nil {
			c.Centering = &Centering{Weights: "tis", Cap: cmp.Or(p.Cap, math.Inf(1))}
		}
		if f.err = c.prepare(f); f.err != nil {
			return
		}
		var m mismatch
		f.eachToken(func(n int) (value, dlogp float64) {
			a, l := in.Advantage[n], in.Now.Logp[n]-in.LogpRoll[n]
			drop := math.Abs(elementary.Exp(f.sg[n])-elementary.Exp(in.LogpRoll[n])) > p.Delta
			m.token(f, l, a, drop, false, false)
			value, dlogp = f.ratioPlusSquare(n, a*p.AdvTau, p.KLTau, p.LogClamp, p.Cap, drop)
			return c.add(f, n, value, dlogp)
		})
		c.log(f)
		m.logRows(f, f.rows(in.Weight != nil))
	})
}

// slope is 1 for a token that is kept, given its probability under the current policy and the sampler.
func (p *IPO) slope(_, prob, _, q float64) float64 { return count(math.Abs(prob-q) <= p.Delta) }

// TBPO is GSPO with a second bound on negative responses: a trust band on both
// sides, for responses that a quantised policy has garbled.
//
// It is the dual clip of PPO at the level of responses. Both policies of the
// ratio are the quantised learner.
type TBPO struct {
	// EpsLow and EpsHigh are the distances of the bounds from 1.
	EpsLow  float64 `yaml:"eps_low" default:"3e-4" range:"[0,inf]"`
	EpsHigh float64 `yaml:"eps_high" default:"4e-4" range:"[0,inf]"`
	// Dual is c, above 1.
	Dual float64 `yaml:"dual" default:"1.05" range:"(1,inf]"`
	// Aggregation over tokens, each with the response's term.
	Aggregation Aggregation `yaml:"aggregation" default:"seq-mean-token-mean"`
}

// Eval computes the loss over the active tokens.
func (p *TBPO) Eval(out *Grad, in *batch.Batch) error {
	g := GSPO{EpsLow: p.EpsLow, EpsHigh: p.EpsHigh, DualClip: p.Dual, LogCap: sequenceCap, MeanAdvantage: true, Aggregation: p.Aggregation}
	return g.Eval(out, in)
}
