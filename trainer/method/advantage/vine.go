package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Vine gives every token the change of the policy's own value of the response over the
// token's episode, and to those of the answer the outcome less the last value.
//
// It is GAE with γ = 1 and λ = 0 over episodes in place of tokens: no credit leaks from one
// episode into another. The outcome is the sum of OutcomeParts, or the reward where no part
// of it has a place.
type Vine struct {
	Asymmetry `yaml:",inline"`
	// Whiten centres and scales over all generated tokens.
	Whiten bool `yaml:"whiten" default:"true"`
}

var vineSpec = method.Spec{
	Name: "vine", Aliases: []string{"vineppo"}, Unit: method.Token,
	Does:    "Gives each token the change of the policy's own value of the response over the token's episode.",
	When:    "Use it for credit per step without a critic, if the recipe has prefix_values.",
	Source:  "VinePPO, arXiv 2410.01679",
	Formula: "A_t = whiten(V(end of t's episode) − V(its start)), V(end of the answer) = R_i",
	Needs:   batch.Columns{batch.Reward, batch.Episode, batch.PrefixValue},
}

// Estimate fills b.Advantage from Episode and PrefixValue.
func (e *Vine) Estimate(b *batch.Batch) error {
	if err := b.Require(batch.Mask, batch.Reward, batch.Episode, batch.PrefixValue); err != nil {
		return err
	}
	b.Advantage = batch.Zeroed(b.Advantage, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		end := b.Reward[i]
		if b.OutcomeParts != nil {
			end = 0
			for _, r := range b.OutcomeParts[i] {
				end += r
			}
		}
		for n := to - 1; n >= from; n-- {
			if n+1 < to && b.Episode[n+1] != b.Episode[n] {
				end = b.PrefixValue[n+1]
			}
			if b.Mask[n] {
				b.Advantage[n] = end - b.PrefixValue[n]
			}
		}
	}
	if e.Whiten {
		masked.Whiten(b.Advantage, b.Mask)
	}
	e.apply(b)
	return nil
}
