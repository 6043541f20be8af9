package advantage

import (
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// GRPO is group relative policy optimisation's advantage: the response's reward
// relative to its group.
//
// A group with equal rewards gets exactly 0. A reward of NaN could not be scored: it is
// left out of mean and std and gets 0 (TRL).
type GRPO struct {
	Asymmetry `yaml:",inline"`
	// Std divides by the group's standard deviation.
	Std bool `yaml:"std" default:"true"`
	// Eps is added to the standard deviation: 1e-6 in verl, SkyRL and ROLL, 1e-4 in TRL.
	Eps float64 `yaml:"eps" default:"1e-6" range:"[0,inf]"`
	// Singleton is "raw" (mean 0, std 1, so divided by 1+eps: verl, SkyRL) or "zero" for a group of one.
	Singleton string `yaml:"singleton" default:"raw" oneof:"raw zero"`

	groups groups
}

var grpoSpec = method.Spec{
	Name: "grpo", Aliases: []string{"grpo_vectorized"}, Unit: method.Group,
	Does:    "Subtracts the group's mean reward and divides by the group's standard deviation.",
	When:    "Use it as the default for verifiable rewards without a critic; std: false makes it Dr. GRPO.",
	Source:  "arXiv 2402.03300; std: false is Dr. GRPO, arXiv 2503.20783; verl, SkyRL, TRL",
	Formula: "A_i = (R_i − mean_g)/(std_g + eps), the same on every token",
	Needs:   batch.Columns{batch.Reward, batch.Group},
}

// Estimate fills b.Advantage from Reward.
func (e *GRPO) Estimate(b *batch.Batch) error {
	return e.groups.outcome(b, e.Asymmetry, func(score, reward []float64, _ []int) error {
		e.normalise(score, reward)
		return nil
	})
}

// normalise fills the advantages of one group.
func (e *GRPO) normalise(score, reward []float64) {
	centre, scored := scoredMean(reward)
	scale := 1.0
	switch {
	case len(reward) == 1 && e.Singleton == "zero":
		return
	case len(reward) == 1:
		centre = 0
		if e.Std {
			scale = 1 + e.Eps
		}
	case constant(reward):
		return
	case e.Std:
		scale = scoredDeviation(reward, centre, scored-1) + e.Eps
	}
	for i, r := range reward {
		if !math.IsNaN(r) {
			score[i] = (r - centre) / scale
		}
	}
}
