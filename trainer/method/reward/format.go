package reward

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Format is a bonus for a response that has the form of a demonstration, right
// or wrong.
type Format struct {
	// Coef is the bonus.
	Coef float64 `yaml:"coef" default:"0.1" range:"[0,1e6]"`
}

var formatSpec = method.Spec{
	Name: "format", Unit: method.Sequence,
	Does:    "Adds a small bonus for a response that has the form of a demonstration, right or wrong.",
	When:    "Use it early in training, when few responses have a form that the verifier can read.",
	Source:  "format reward in addition to the accuracy reward, DeepSeek-R1 arXiv:2501.12948; it states no coefficient",
	Formula: "R = coef · 1[working and answer have the form]",
	Example: "coef = 0.1\n" +
		"whole working, wrong answer: 0.1\n" +
		"right answer without the working: 0",
	Reconstruction: "coef 0.1 is ours: small against the outcome, so that form alone never pays more than an answer",
}

// Part implements Shaper.
func (f *Format) Part(dst []float64, _ *batch.Batch, verdicts []task.Verdict) error {
	for i := range verdicts {
		dst[i] = 0
		if verdicts[i].Format {
			dst[i] = f.Coef
		}
	}
	return nil
}
