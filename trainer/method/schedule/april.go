package schedule

import "driftlab/trainer/method"

// april starts more than it needs, stops at B and continues the rest next time. What
// ended beyond B at once is not stored.
type april struct {
	// OverSampling is over_sampling_batch_size in samples; 0 for twice B.
	OverSampling int `yaml:"over_sampling" range:"[0,2^20]"`
}

// Traits implements Policy.
func (*april) Traits() Traits {
	return Traits{Colocated: true, Reload: Interrupt, Bound: Unbounded}
}

// Admit fills up to the over-sampled batch at the start of a rollout, and starts
// another where so many were refused that B do not remain.
func (p *april) Admit(v View) int {
	over := max(p.OverSampling, v.Batch)
	if p.OverSampling == 0 {
		over = 2 * v.Batch
	}
	n := len(v.Flight)
	switch {
	case !v.Idle || v.Unpublished > 0:
		return 0
	case n+len(v.Done) < v.Batch:
		return over
	case len(v.Done) == 0 && v.Flight[n-1].Step < v.Step:
		return over - n
	}
	return 0
}

// Verdict drops what ended together with the last of a batch and was not in it.
func (*april) Verdict(v View, s *Sample) Fate {
	if v.Published && s.Done() {
		return Drop
	}
	return Take
}

var aprilSpec = method.Spec{
	Name: "april", Aliases: []string{"slime_partial"},
	Does:           "Starts more requests than a batch needs, stops at a full batch, and continues the partial responses first in the next step.",
	When:           "Use it to avoid waiting for the slowest responses in a synchronous trainer, at the price of responses of mixed versions.",
	Source:         "APRIL, arXiv:2509.18521; THUDM/slime slime/rollout/sglang_rollout.py",
	Formula:        "submit O ≥ B; stop at B; abort all; the partial ones are continued first\nBatch = the first B to end, by index",
	Reconstruction: "O = 2B is a default of ours. A partial response stays on its worker.",
}
