package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// ReinforceBaseline is REINFORCE++ with the group's mean as baseline.
//
// There is no deviation per group: the scale is the batch's. Long responses
// weigh more in mean and deviation, which run over tokens. A group of one has
// mean 0.
type ReinforceBaseline struct {
	Asymmetry `yaml:",inline"`

	groups groups
}

var reinforcePlusPlusBaselineSpec = method.Spec{
	Name: "reinforce_plus_plus_baseline", Aliases: []string{"reinforce++_baseline"}, Unit: method.Batch,
	Does:    "Subtracts the group's mean reward, then normalises over all tokens of the batch.",
	When:    "Use it if division by each group's deviation gives nearly solved prompts too much weight.",
	Source:  "arXiv 2501.03262; verl",
	Formula: "A = whiten(R_i − mean_g) over the tokens of the batch",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

// Estimate fills b.Advantage from Reward.
func (e *ReinforceBaseline) Estimate(b *batch.Batch) error {
	err := e.groups.outcome(b, symmetric, func(score, reward []float64, _ []int) error {
		if len(reward) > 1 && constant(reward) {
			return nil
		}
		m := centre(reward)
		for i, r := range reward {
			score[i] = r - m
		}
		return nil
	})
	if err != nil {
		return err
	}
	masked.Whiten(b.Advantage, b.Mask)
	e.apply(b)
	return nil
}
