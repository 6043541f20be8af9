package dynamic

import (
	"context"

	"driftlab/experiments/claims/claim"
	"driftlab/results/stats"
)

// arm is a run's name and what it changes in the headline's recipe.
type arm struct {
	name string
	set  []string
}

// train makes the runs of the arms, each at every learning rate.
func train(ctx context.Context, e *claim.Env, o *claim.Observation, steps int, rates, columns []string, arms ...arm) error {
	for _, a := range arms {
		for _, rate := range rates {
			if err := e.PassRates(ctx, o, claim.AtLR(a.name, rate), steps, columns, append([]string{claim.SetLR(rate)}, a.set...)...); err != nil {
				return err
			}
		}
	}
	return nil
}

// average is the mean of a column over an arm's runs.
func average(j *claim.Judge, rates []string, arm, column string) []float64 {
	return j.OverRates(rates, arm, func(o *claim.Observation, name string) float64 {
		return stats.Average(o.List(claim.Beside(name, column)))
	})
}
