package reward

import (
	"errors"
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Overlong is DAPO's soft overlong punishment: nothing up to MaxLength -
// Buffer tokens, then a line down to -Coef at MaxLength, and -Coef beyond.
type Overlong struct {
	Ramp `yaml:",inline"`
	// MaxLength is L_max in generated tokens: the length limit of the rollout.
	MaxLength int `yaml:"max_length"`
	// Buffer is L_cache, the width of the slope in tokens, within [1, MaxLength].
	Buffer int `yaml:"buffer"`
	// Coef scales the punishment, within [0, 1e6]; verl's overlong_buffer.penalty_factor.
	Coef float64 `yaml:"coef"`
}

var overlongSpec = method.Spec{
	Name: "overlong", Aliases: []string{"soft_overlong", "dapo_length"}, Unit: method.Sequence,
	Source:  "soft overlong punishment of DAPO, arXiv:2503.14476; verl's DAPO reward manager",
	Formula: "R = coef · clip((L_max − L_cache − L)/L_cache, −1, 0)",
	Example: "L_max = 64, L_cache = 16, coef = 1\n" +
		"48 tokens: 0\n" +
		"56 tokens: −0.5; 64 tokens: −1",
	Reconstruction: "the paper has L_max = 20480 and L_cache = 4096, one fifth; ours are 64 and 16 for short tasks. " +
		"verl does not stop at −1 beyond L_max, where no response can be",
}

// NewOverlong returns the punishment for a limit of 64 tokens.
func NewOverlong() *Overlong { return &Overlong{MaxLength: 64, Buffer: 16, Coef: 1} }

// Validate implements Shaper.
func (o *Overlong) Validate() error {
	faults := []error{within("coef", o.Coef, 0, maxScale), o.Ramp.Validate()}
	if o.MaxLength < 1 {
		faults = append(faults, fmt.Errorf("max_length: %d is below 1", o.MaxLength))
	}
	if o.Buffer < 1 || o.Buffer > o.MaxLength {
		faults = append(faults, fmt.Errorf("buffer: %d is not within [1, max_length = %d]", o.Buffer, o.MaxLength))
	}
	return errors.Join(faults...)
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
