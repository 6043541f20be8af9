package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// RLOO is REINFORCE with a leave-one-out baseline. For a group of one verl's loop form
// returns the raw reward, its vectorised form and SkyRL 0.
type RLOO struct {
	Asymmetry `yaml:",inline"`
	// Singleton is "zero" or "raw" for a group of one.
	Singleton string `yaml:"singleton" default:"zero" oneof:"zero raw"`

	groups groups
}

var rlooSpec = method.Spec{
	Name: "rloo", Aliases: []string{"rloo_vectorized"}, Unit: method.Group,
	Does:    "Subtracts the mean reward of the other responses of the group: a leave-one-out baseline.",
	When:    "Use it in place of grpo for an unbiased baseline and no division by the group's deviation.",
	Source:  "arXiv 2402.14740; verl, SkyRL",
	Formula: "A_i = G/(G−1)·(R_i − mean_g)",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

// Estimate fills b.Advantage from Reward.
func (e *RLOO) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) error {
		n := float64(len(reward))
		switch {
		case len(reward) == 1 && e.Singleton == "raw":
			score[0] = reward[0]
		case !constant(reward): // as one reward alone is
			m := mean(reward)
			for i, r := range reward {
				score[i] = n / (n - 1) * (r - m)
			}
		}
		return nil
	})
}
