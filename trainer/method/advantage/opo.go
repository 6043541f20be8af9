package advantage

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// OPO is on-policy optimisation with the baseline that is optimal if a
// response's score norm grows with its length: the length-weighted mean.
//
// A group of one has no baseline and keeps its reward. The weights include the response
// itself, which biases the gradient by terms of order 1/G.
type OPO struct {
	Asymmetry `yaml:",inline"`

	groups groups
}

var opoSpec = method.Spec{
	Name: "opo", Unit: method.Group,
	Does:    "Subtracts the length-weighted mean reward of the group, the optimal baseline if score norms grow with length.",
	When:    "Use it for on-policy training with responses of very different lengths.",
	Source:  "arXiv 2505.23585; verl",
	Formula: "A_i = R_i − Σ_j L_j·R_j/Σ_j L_j, L in generated tokens",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

// Estimate fills b.Advantage from Reward.
func (e *OPO) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, rows []int) error {
		sum, lengths := 0.0, 0.0
		for i, r := range reward {
			from, to := b.Span(rows[i])
			length := float64(masked.Count(b.Mask[from:to]))
			sum, lengths = sum+float64(length*r), lengths+length
		}
		baseline := 0.0
		switch {
		case len(reward) == 1:
		case constant(reward):
			baseline = reward[0]
		case lengths > 0:
			baseline = sum / lengths
		}
		for i, r := range reward {
			score[i] = r - baseline
		}
		return nil
	})
}
