package reward

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Exact is the outcome: 1 for a response that the verifier calls correct, 0
// for any other. It has no parameters, so that pass rates can be read from it.
type Exact struct{}

var exactSpec = method.Spec{
	Name: "exact", Aliases: []string{"outcome"}, Unit: method.Sequence,
	Does:    "Gives 1 to a response that the verifier accepts and 0 to any other.",
	When:    "Use it as the main reward, to which the other parts are added.",
	Source:  "rule-based outcome reward, DeepSeekMath arXiv:2402.03300",
	Formula: "R = 1[correct]",
	Example: "correct: 1\n" +
		"wrong: 0\n" +
		"cut off before <eos>: 0",
}

// Part implements Shaper.
func (*Exact) Part(dst []float64, _ *batch.Batch, verdicts []task.Verdict) error {
	for i := range verdicts {
		dst[i] = outcome(&verdicts[i])
	}
	return nil
}

// outcome is 1 for a correct response and 0 for any other.
func outcome(v *task.Verdict) float64 {
	if v.Correct {
		return 1
	}
	return 0
}
