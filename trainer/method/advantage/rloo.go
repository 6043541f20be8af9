package advantage

import "driftlab/trainer/method/batch"

// RLOO is REINFORCE with a leave-one-out baseline.
//
//	A_i = R_i − mean of the others = G/(G−1)·(R_i − mean_g)
//
// For a group of one verl's loop form returns the raw reward, its vectorised
// form and SkyRL 0.
//
// Source: arXiv 2402.14740; verl rloo and rloo_vectorized.
type RLOO struct {
	Asymmetry `yaml:",inline"`
	// Singleton is "zero" or "raw" for a group of one. Default zero.
	Singleton string `yaml:"singleton"`

	groups groups
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

// Validate checks singleton.
func (e *RLOO) Validate() error {
	if err := checkSingleton(e.Singleton); err != nil {
		return err
	}
	return e.Asymmetry.Validate()
}
