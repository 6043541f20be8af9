package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// GPG is group policy gradient's advantage: centred by the group, scaled up by
// the share of responses of the batch that scored at all. A group of one has mean 0.
type GPG struct {
	Asymmetry `yaml:",inline"`
	// FNorm divides the advantage.
	FNorm float64 `yaml:"f_norm" default:"1" range:"(0,inf]"`

	groups groups
}

var gpgSpec = method.Spec{
	Name: "gpg", Unit: method.Batch,
	Does:    "Centres the reward within the group and scales it by batch size over the number of responses with a nonzero reward.",
	When:    "Use it with the loss gpg, to offset groups that have no gradient.",
	Source:  "arXiv 2504.02546; verl",
	Formula: "A_i = B/max(1, #{R≠0})·(R_i − mean_g)/f_norm",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

// Estimate fills b.Advantage from Reward.
func (e *GPG) Estimate(b *batch.Batch) error {
	scored := 0
	for _, r := range b.Reward {
		if r != 0 {
			scored++
		}
	}
	alpha := float64(b.Len()) / float64(max(scored, 1))
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) error {
		if len(reward) > 1 && constant(reward) {
			return nil
		}
		m := centre(reward)
		for i, r := range reward {
			score[i] = alpha * (r - m) / e.FNorm
		}
		return nil
	})
}
