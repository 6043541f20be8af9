package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// MaxRL divides the centred reward by the group's mean in place of its
// deviation: with 0/1 rewards the expected gradient becomes that of the log of
// the pass rate, to first order, so rare successes count for more. A group of one
// keeps its reward; a group without a success gets 0.
type MaxRL struct {
	Asymmetry `yaml:",inline"`
	// Eps is added to the mean.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	zeroes bool // prime-rl: a group of one, or whose mean is not above 0, gets 0
	groups groups
}

var primeMaxRLSpec = method.Spec{
	Name: "max_rl", Unit: method.Group,
	Does:    "Centres the reward within the group and divides it by the group's mean reward; without a positive mean the advantage is 0.",
	When:    "Use it in place of maxrl to reproduce prime-rl, where groups of one have no advantage.",
	Source:  "arXiv 2602.02710; prime-rl",
	Formula: "A_i = (R_i − mean_g)/(mean_g + eps) if mean_g > 0, else 0",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

var maxrlSpec = method.Spec{
	Name: "maxrl", Unit: method.Group,
	Does:    "Centres the reward within the group and divides it by the group's mean reward, not by its deviation.",
	When:    "Use it with any policy loss to give rare successes on hard prompts more weight.",
	Source:  "arXiv 2602.02710; SkyRL",
	Formula: "A_i = (R_i − mean_g)/(mean_g + eps)",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

// Estimate fills b.Advantage from Reward.
func (e *MaxRL) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) error {
		switch {
		case e.zeroes && (len(reward) == 1 || mean(reward) <= 0):
		case len(reward) == 1:
			score[0] = reward[0]
		case !constant(reward):
			m := mean(reward)
			for i, r := range reward {
				score[i] = (r - m) / (m + e.Eps)
			}
		}
		return nil
	})
}
