package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// ReMax subtracts the reward of the greedy response to the same prompt, which
// costs one more rollout per prompt and no critic.
type ReMax struct {
	Asymmetry `yaml:",inline"`
}

var remaxSpec = method.Spec{
	Name: "remax", Unit: method.Sequence,
	Does:    "Subtracts the reward of the greedy response to the same prompt.",
	When:    "Use it with single samples per prompt: it needs one more rollout per prompt, and neither a group nor a critic.",
	Source:  "arXiv 2310.10505; verl",
	Formula: "A_t = Σ_{s≥t} r_s − R_greedy",
	Needs:   batch.Columns{batch.TokenReward, batch.GreedyReward},
}

// Estimate fills b.Return and b.Advantage from TokenReward and GreedyReward.
func (e *ReMax) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.GreedyReward); err != nil {
		return err
	}
	if err := returns(b, 1, Carry); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i := range b.Len() {
		for n := range b.Where(i, b.Mask) {
			b.Advantage[n] = b.Return[n] - b.GreedyReward[i]
		}
	}
	e.apply(b)
	return nil
}
