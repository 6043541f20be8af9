package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Reinforce is the discounted return. Whitened it is REINFORCE++: one scale for the whole
// batch instead of one per group.
type Reinforce struct {
	Asymmetry `yaml:",inline"`
	// Gamma is the discount.
	Gamma float64 `yaml:"gamma" default:"1" range:"[0,1]"`
	// Whiten centres and scales over all generated tokens: reinforce_plus_plus.
	Whiten bool `yaml:"whiten"`
	// Holes is the rule at tokens the policy did not generate.
	Holes Holes `yaml:"holes" default:"carry" oneof:"carry reset through"`
	// CountEps is added to the number of tokens in the whitening's mean: 1e-8 is
	// verl's and ROLL's, 0 SkyRL's and slime's.
	CountEps float64 `yaml:"count_eps" default:"1e-8" range:"[0,inf]"`
}

var reinforceSpec = method.Spec{
	Name: "reinforce", Aliases: []string{"returns"}, Unit: method.Token,
	Does:    "Uses the discounted sum of the rewards to come, without a baseline.",
	When:    "Use it as a control without baseline, or with rewards at tokens; its variance is high.",
	Source:  "Williams 1992; ROLL adv_estimator reinforce",
	Formula: "A_t = Σ_{s≥t} gamma^(s−t)·r_s",
	Needs:   batch.Columns{batch.TokenReward},
}

var reinforcePlusPlusSpec = method.Spec{
	Name: "reinforce_plus_plus", Aliases: []string{"reinforce++"}, Unit: method.Batch,
	Does:    "Normalises the discounted returns over all tokens of the batch and not within each group.",
	When:    "Use it if groups are small or absent, since it needs no statistic of a group.",
	Source:  "arXiv 2501.03262; verl, SkyRL",
	Formula: "A_t = whiten(Σ_{s≥t} gamma^(s−t)·r_s) over the tokens of the batch",
	Needs:   batch.Columns{batch.TokenReward},
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
