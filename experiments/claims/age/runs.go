package age

import (
	"context"
	"fmt"

	"driftlab/experiments/claim"
	"driftlab/experiments/stats"
	"driftlab/results/record"
)

// evaluations is how often the weights of a run are evaluated: its pass rates,
// on held-out prompts in the learner's engine. Rewards of rollouts lag behind the
// weights and hide a fall.
const evaluations = 6

// passRates is the same in the words of a setup.
const passRates = "Judged is the mean pass rate of the weights on 128 held-out prompts over the last three of six evaluations; a run that a value which is not finite ended passes none. "

// train makes a run and records its pass rates, and the columns asked for. Steps
// are a multiple of evaluations, or fewer at the tiny size.
func train(ctx context.Context, e *claim.Env, o *claim.Observation, name string, steps int, columns []string, set ...string) error {
	every := max(steps/evaluations, 1)
	set = append([]string{fmt.Sprintf("eval={every: %d, prompts: %d}", every, e.Pick(128, 64, 8))}, set...)
	c, err := e.Train(ctx, append([]string{"val/learner/pass_rate"}, columns...), steps, set...)
	if err != nil {
		return err
	}
	rates := c[0]
	if every > 1 && len(rates) > 0 {
		rates = rates[1:] // a run also evaluates its first update
	}
	for len(rates) < evaluations {
		rates = append(rates, 0)
	}
	o.Set(name, rates...)
	for i, column := range columns {
		o.Set(name+", "+column, c[i+1]...)
	}
	return nil
}

// late is the mean of the latter half of a run's pass rates.
func late(rates []float64) float64 { return stats.Average(rates[len(rates)/2:]) }

// fell reports that a run ends 30 % or more below its own best.
func fell(rates []float64) bool {
	return record.Fell(stats.Max(rates), rates[len(rates)-1])
}

// lates are the late pass rates of an arm, averaged over its learning rates.
func lates(j *claim.Judge, rates []string, arm string) []float64 {
	return j.Each(func(o *claim.Observation) float64 {
		sum := 0.0
		for _, r := range rates {
			sum += late(o.List(arm + at(r)))
		}
		return sum / float64(len(rates))
	})
}

// falls says of every run of an arm, at all of its learning rates, whether it fell.
func falls(j *claim.Judge, rates []string, arm string) []bool {
	var all []bool
	for _, r := range rates {
		for _, o := range j.Runs {
			all = append(all, fell(o.List(arm+at(r))))
		}
	}
	return all
}

// at names a learning rate.
func at(rate string) string { return " at lr " + rate }

// rateOf is its assignment.
func rateOf(rate string) string { return "learner.optimizer.lr=" + rate }

// bars draw the late pass rates of arms, one colour per learning rate.
func bars(j *claim.Judge, title string, rates, arms []string) {
	var groups []claim.Group
	for _, r := range rates {
		groups = append(groups, claim.Group{Name: "lr " + r, Values: func(k int) []float64 {
			return j.Each(func(o *claim.Observation) float64 { return late(o.List(arms[k] + at(r))) })
		}})
	}
	j.Evidence.Picture = j.Bars(title, "pass rate", false, arms, groups...)
}

// averaged is the mean of two arms, replication by replication.
func averaged(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = (a[i] + b[i]) / 2
	}
	return out
}

// slopes are those of y over x, replication by replication; y lists them by x.
func slopes(x []float64, y [][]float64) []float64 {
	out := make([]float64, len(y[0]))
	for i := range out {
		var curve []float64
		for _, at := range y {
			curve = append(curve, at[i])
		}
		out[i] = stats.Slope(x, curve)
	}
	return out
}
