package advantage

import (
	"fmt"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// GAE is generalised advantage estimation, for a critic's values.
//
//	δ_t = r_t + gamma·V_{t+1} − V_t
//	L_t = δ_t + gamma·lam·L_{t+1},   Return_t = L_t + V_t,   A = whiten(L) or L
//
// Returns are computed before whitening. At tokens the policy did not generate,
// carry passes V_{t+1} and L_{t+1} through (verl), through treats them as
// ordinary (SkyRL, slime, ROLL).
//
// Source: arXiv 1506.02438; verl compute_gae_advantage_return.
type GAE struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount. Default 1.
	Gamma float64 `yaml:"gamma"`
	// Lam is lambda. Default 1 (verl); 0.95 classically.
	Lam float64 `yaml:"lam"`
	// Whiten centres and scales over all generated tokens. Default true.
	Whiten bool `yaml:"whiten"`
	// Holes is carry or through. Default carry.
	Holes Holes `yaml:"holes"`
	// CountEps is added to the number of tokens in the whitening's mean. Default
	// 1e-8 (verl, ROLL); 0 is SkyRL's and slime's.
	CountEps float64 `yaml:"count_eps"`
}

// Estimate fills b.Return and b.Advantage from TokenReward and Value.
func (e *GAE) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.TokenReward, batch.Value); err != nil {
		return err
	}
	b.Advantage, b.Return = batch.Zeroed(b.Advantage, b.Tokens()), batch.Zeroed(b.Return, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		running, next := 0.0, 0.0
		for n := to - 1; n >= from; n-- {
			if b.Mask[n] || e.Holes == Through {
				delta := b.TokenReward[n] + float64(e.Gamma*next) - b.Value[n]
				running, next = delta+float64(e.Gamma*e.Lam*running), b.Value[n]
			}
			b.Return[n] = running + b.Value[n]
			if b.Mask[n] {
				b.Advantage[n] = running
			}
		}
	}
	if e.Whiten && masked.Count(b.Mask) > 1 {
		masked.WhitenWith(b.Advantage, b.Mask, e.CountEps)
	}
	e.apply(b)
	return nil
}

// Validate checks gamma, lam and holes.
func (e *GAE) Validate() error {
	if err := checkDiscount("gamma", e.Gamma); err != nil {
		return err
	}
	if err := checkDiscount("lam", e.Lam); err != nil {
		return err
	}
	if err := checkEps(e.CountEps); err != nil {
		return err
	}
	if e.Holes != Carry && e.Holes != Through {
		return fmt.Errorf("holes is %q, must be %q or %q", e.Holes, Carry, Through)
	}
	return e.Asymmetry.Validate()
}
