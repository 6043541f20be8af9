package reward

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Uniform takes the same amount for every generated token, whatever the
// prompt and the outcome. Once a group is all right or all wrong, length is
// all that is left to learn from: with too large a coefficient the responses
// end up empty.
type Uniform struct {
	Ramp `yaml:",inline"`
	// Coef is the penalty α per generated token.
	Coef float64 `yaml:"coef" default:"0.005" range:"[0,1e6]"`
}

var uniformSpec = method.Spec{
	Name: "length_uniform", Aliases: []string{"uniform"}, Unit: method.Sequence,
	Does:    "Subtracts the same amount for every generated token.",
	When:    "Use it as the plainest length penalty, with a small coefficient; a large coefficient leads to empty responses.",
	Source:  "the uniform penalty of a length study by this project's survey (α = 1e-4 at about 1,000 tokens)",
	Formula: "R = −α · L",
	Example: "α = 0.01\n" +
		"14 tokens: −0.14\n" +
		"3 tokens: −0.03",
	Reconstruction: "α = 0.005 is ours: the published value scaled to responses of tens of tokens",
}

// Part implements Shaper.
func (u *Uniform) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	coef := u.Coef * u.share(b)
	for i := range dst {
		dst[i] = -coef * length(b, i)
	}
	return nil
}
