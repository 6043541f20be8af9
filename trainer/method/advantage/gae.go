package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// GAE is generalised advantage estimation, for a critic's values. The returns for the
// critic are the advantages before whitening, plus the values.
type GAE struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount.
	Gamma float64 `yaml:"gamma" default:"1" range:"[0,1]"`
	// Lam is lambda; 1 is verl's, 0.95 classical.
	Lam float64 `yaml:"lam" default:"1" range:"[0,1]"`
	// Whiten centres and scales over all generated tokens.
	Whiten bool `yaml:"whiten" default:"true"`
	// Holes is carry (verl) or through (SkyRL, slime, ROLL).
	Holes Holes `yaml:"holes" default:"carry" oneof:"carry through"`
	// CountEps is added to the number of tokens in the whitening's mean: 1e-8 is
	// verl's and ROLL's, 0 SkyRL's and slime's.
	CountEps float64 `yaml:"count_eps" default:"1e-8" range:"[0,inf]"`
}

var gaeSpec = method.Spec{
	Name: "gae", Unit: method.Token,
	Does:    "Computes generalised advantage estimation (GAE) from a critic's values, with discount gamma and trace parameter lam.",
	When:    "Use it for proximal policy optimisation (PPO) with a critic.",
	Source:  "arXiv 1506.02438; verl, SkyRL, slime, ROLL",
	Formula: "L_t = r_t + gamma·V_{t+1} − V_t + gamma·lam·L_{t+1};  A = whiten(L)",
	Needs:   batch.Columns{batch.TokenReward, batch.Value},
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
