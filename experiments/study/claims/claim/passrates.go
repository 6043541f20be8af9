package claim

import (
	"fmt"
	"slices"

	"driftlab/results/record"
	"driftlab/results/stats"
)

// evaluations is how often the weights of a run are evaluated: its pass rates,
// on held-out prompts in the learner's engine. Rewards of rollouts lag the
// weights and hide a fall.
const evaluations = 6

// tinySteps is the most that these runs have at the tiny size.
const tinySteps = 1

// PassRateNote is the same in the words of a setup.
const PassRateNote = "Judged is the mean pass rate of the weights on 128 held-out prompts over the last three of six evaluations; a run that a value which is not finite ended passes none. "

// PassRates makes a run and records its pass rates under the arm's name, and
// the columns asked for next to it (see ArmColumn). Steps are a multiple of
// evaluations, or fewer at the tiny size.
func (e *Env) PassRates(o *Observation, arm string, steps int, columns []string, set ...string) {
	if e.Size == Tiny {
		steps = min(steps, tinySteps)
	}
	every := max(steps/evaluations, 1)
	set = append([]string{fmt.Sprintf("eval={every: %d, prompts: %d}", every, e.Pick(128, 64, 2))}, set...)
	c := e.Train(append([]string{"val/learner/pass_rate"}, columns...), steps, set...)
	rates := slices.Clip(c[0])
	if every > 1 && len(rates) > 0 {
		rates = rates[1:] // a run also evaluates its first update
	}
	for len(rates) < evaluations {
		rates = append(rates, 0)
	}
	o.Set(arm, rates...)
	for i, column := range columns {
		o.Set(ArmColumn(arm, column), c[i+1]...)
	}
}

// ArmColumn is the figure of an arm's column.
func ArmColumn(arm, column string) string { return arm + ", " + column }

// AtLR names an arm at a learning rate, and SetLR is the rate's assignment.
func AtLR(arm, rate string) string { return arm + " at lr " + rate }

// SetLR is described at AtLR.
func SetLR(rate string) string { return "learner.optimizer.lr=" + rate }

// Late is the mean of the latter half of a run's pass rates.
func Late(rates []float64) float64 { return stats.Average(rates[len(rates)/2:]) }

// Collapsed reports that a run ends 30 % or more below its own best.
func Collapsed(rates []float64) bool {
	return record.HasCollapsed(stats.Max(rates), rates[len(rates)-1])
}

// OverRates is a statistic of an arm's runs, averaged over its learning rates.
func (j *Judge) OverRates(rates []string, arm string, of func(o *Observation, name string) float64) []float64 {
	return j.Each(func(o *Observation) (sum float64) {
		for _, r := range rates {
			sum += of(o, AtLR(arm, r))
		}
		return sum / float64(len(rates))
	})
}
