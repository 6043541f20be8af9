package reward

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Overlong is DAPO's soft overlong punishment: nothing up to MaxLength -
// Buffer tokens, then a line down to -Coef at MaxLength, and -Coef beyond.
type Overlong struct {
	Ramp `yaml:",inline"`
	// MaxLength is L_max in generated tokens: the length limit of the rollout.
	MaxLength int `yaml:"max_length" default:"64" range:"[1,inf]"`
	// Buffer is L_cache, the width of the slope in tokens.
	Buffer int `yaml:"buffer" default:"16" range:"[1,max_length]"`
	// Coef scales the punishment; verl's overlong_buffer.penalty_factor.
	Coef float64 `yaml:"coef" default:"1" range:"[0,1e6]"`
}

var overlongSpec = method.Spec{
	Name: "overlong", Aliases: []string{"soft_overlong", "dapo_length"}, Unit: method.Sequence,
	Does:    "Penalises responses linearly over the last buffer tokens before the maximum length, and fully at the maximum.",
	When:    "Use it to discourage truncated responses, as DAPO does.",
	Source:  "soft overlong punishment of DAPO, arXiv:2503.14476; verl's DAPO reward manager",
	Formula: "R = coef · clip((L_max − L_cache − L)/L_cache, −1, 0)",
	Example: "L_max = 64, L_cache = 16, coef = 1\n" +
		"48 tokens: 0\n" +
		"56 tokens: −0.5; 64 tokens: −1",
	Reconstruction: "the paper has L_max = 20480 and L_cache = 4096, one fifth; ours are 64 and 16 for short tasks. " +
		"verl does not stop at −1 beyond L_max, where no response can be",
}

// Part implements Shaper.
func (o *Overlong) Part(dst []float64, b *batch.Batch, _ []task.Verdict) error {
	coef := o.Coef * o.share(b)
	for i := range dst {
		slope := (float64(o.MaxLength-o.Buffer) - length(b, i)) / float64(o.Buffer)
		dst[i] = coef * max(-1, min(0, slope))
	}
	return nil
}
