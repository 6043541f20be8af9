package reward

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
)

// Step pays a correct response for staying within a target length, whatever it
// saves beyond that: a reference that does not move, unlike a group's.
type Step struct {
	Ramp `yaml:",inline"`
	// Coef is α, what a correct response within the target gains.
	Coef float64 `yaml:"coef" default:"0.5" range:"[0,1e6]"`
	// Target is the length in generated tokens, at least 1.
	Target int `yaml:"target" default:"16" range:"[1,inf]"`
	// Explore pays a wrong response as much for going beyond the target.
	Explore bool `yaml:"explore"`
}

var stepSpec = method.Spec{
	Name: "length_step", Aliases: []string{"laser"}, Unit: method.Sequence,
	Does:   "Adds a bonus to correct responses within a target length, whatever they save beyond it.",
	When:   "Use it if the wanted length is known; the target does not move with the policy.",
	Source: "LASER, arXiv:2505.15612; explore is the exploration of its variant LASER-DE, recalled and not read again",
	Formula: "R = α · 1[L ≤ target] if correct, 0 if not\n" +
		"explore: R = α · 1[L > target] if not correct",
	Example: "α = 0.5, target 16\n" +
		"16 tokens, correct: 0.5; 17 tokens, correct: 0\n" +
		"17 tokens, wrong, explore: 0.5",
	Reconstruction: "target 16 is ours, for responses of tens of tokens; that LASER-D moves the target by difficulty during training is not modelled",
}

// Part implements Shaper.
func (s *Step) Part(dst []float64, b *batch.Batch, verdicts []task.Verdict) error {
	coef := s.Coef * s.share(b)
	for i := range dst {
		dst[i] = 0
		short := length(b, i) <= float64(s.Target)
		if verdicts[i].Correct == short && (short || s.Explore) {
			dst[i] = coef
		}
	}
	return nil
}
