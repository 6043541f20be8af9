package advantage

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// GRPOPassK rewards only the best response of a group, by its lead over the
// second best. A tie at the top gives 0 to every response; a group of one is an error.
type GRPOPassK struct {
	Asymmetry `yaml:",inline"`
	// Std divides by the group's standard deviation.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to the standard deviation.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`

	groups groups
}

var grpoPasskSpec = method.Spec{
	Name: "grpo_passk", Unit: method.Group,
	Does:    "Gives an advantage to the best response of a group only, by its lead over the second best.",
	When:    "Use it to train for the best of k responses with graded rewards; most groups with rewards of 0 and 1 have no gradient.",
	Source:  "arXiv 2503.19595; verl grpo_passk",
	Formula: "A_best = (R_max − R_second)/(std_g + eps), 0 for the others",
	Needs:   batch.Columns{batch.Reward, batch.Group},
	Reconstruction: "with rewards of 0 and 1 a group learns only if exactly one response is correct; the source has no other setting " +
		"for them, so give rewards with degrees, or use reward pass_at_k with another estimator",
}

// Estimate fills b.Advantage from Reward.
func (e *GRPOPassK) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, rows []int) error {
		if len(reward) < 2 {
			return fmt.Errorf("advantage: grpo_passk needs two responses per group, response %d is alone", rows[0])
		}
		best, second := 0, 1
		if reward[1] > reward[0] {
			best, second = 1, 0
		}
		for i := 2; i < len(reward); i++ {
			switch {
			case reward[i] > reward[best]:
				best, second = i, best
			case reward[i] > reward[second]:
				second = i
			}
		}
		scale := 1.0
		if e.Std {
			scale = deviation(reward) + e.Eps
		}
		if lead := reward[best] - reward[second]; lead > 0 {
			score[best] = lead / scale
		}
		return nil
	})
}
