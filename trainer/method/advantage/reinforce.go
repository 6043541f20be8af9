package advantage

import (
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Reinforce is the discounted return, whitened over the batch or not.
//
//	G_t = r_t + gamma·G_{t+1},   A = whiten(G) or G
//
// Whitened it is REINFORCE++ (arXiv 2501.03262): one scale for the whole batch
// instead of one per group. Raw it is plain REINFORCE (ROLL's reinforce).
//
// Sources disagree on tool output inside a response: see Holes.
type Reinforce struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount. Default 1.
	Gamma float64 `yaml:"gamma"`
	// Whiten centres and scales over all generated tokens. Default true for
	// reinforce_plus_plus, false for reinforce.
	Whiten bool `yaml:"whiten"`
	// Holes is the rule at tokens the policy did not generate. Default carry.
	Holes Holes `yaml:"holes"`
	// CountEps is added to the number of tokens in the whitening's mean. Default
	// 1e-8 (verl, ROLL); 0 is SkyRL's and slime's.
	CountEps float64 `yaml:"count_eps"`
}

// Estimate fills b.Return and b.Advantage from TokenReward.
func (e *Reinforce) Estimate(b *batch.Batch) error {
	if err := returns(b, e.Gamma, e.Holes); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for n, counts := range b.Mask {
		if counts {
			b.Advantage[n] = b.Return[n]
		}
	}
	if e.Whiten {
		masked.WhitenWith(b.Advantage, b.Mask, e.CountEps)
	}
	e.apply(b)
	return nil
}

// Validate checks gamma and holes.
func (e *Reinforce) Validate() error {
	if err := checkDiscount("gamma", e.Gamma); err != nil {
		return err
	}
	if err := e.Holes.validate(); err != nil {
		return err
	}
	if err := checkEps(e.CountEps); err != nil {
		return err
	}
	return e.Asymmetry.Validate()
}
