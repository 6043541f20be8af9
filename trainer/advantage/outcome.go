package advantage

import (
	"fmt"

	"driftlab/trainer/batch"
)

// outcome is the frame of estimators that give a response one number: per
// calls fill score, one entry per response of the group from..to, and every
// generated token gets its response's.
func outcome(b *batch.Batch, memory *[]float64, a Asymmetry, per func(score, reward []float64, from int) error) error {
	if err := b.Require(batch.Reward); err != nil {
		return err
	}
	*memory = batch.Zeroed(*memory, b.Len())
	score := *memory
	err := groups(b, func(from, to int) error {
		return per(score[from:to], b.Reward[from:to], from)
	})
	if err != nil {
		return err
	}
	broadcast(b, score)
	a.apply(b)
	return nil
}

// centre is the group's mean as verl's loop form takes it: 0 for a group of
// one, which so keeps its raw reward.
func centre(reward []float64) float64 {
	if len(reward) == 1 {
		return 0
	}
	return mean(reward)
}

// checkSingleton is the rule for what a group of one gets.
func checkSingleton(s string) error {
	if s != "raw" && s != "zero" {
		return fmt.Errorf("singleton is %q, must be \"raw\" or \"zero\"", s)
	}
	return nil
}

// checkEps is the rule for constants that keep a division finite.
func checkEps(eps float64) error {
	if !(eps >= 0) {
		return fmt.Errorf("eps is %v, must not be negative", eps)
	}
	return nil
}

// checkDiscount is the rule for gamma and lambda.
func checkDiscount(name string, x float64) error {
	if !(x >= 0 && x <= 1) {
		return fmt.Errorf("%s is %v, must lie between 0 and 1", name, x)
	}
	return nil
}
