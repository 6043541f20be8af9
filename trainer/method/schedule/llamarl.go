package schedule

import "driftlab/trainer/method"

// LlamaRL generates batches ahead of the learner, in order; a worker takes new
// weights between requests. Overlap alone gains (T_g + T_t) / max(T_g, T_t) ≤ 2. Its loss,
// AIPO, weighs by min(π/μ, C).
type LlamaRL struct {
	// Depth is d, the batches ahead.
	Depth int `yaml:"depth" default:"1" range:"[1,1024]"`
}

// Traits implements Policy.
func (p *LlamaRL) Traits() Traits {
	return Traits{Old: Rollout, Bound: p.Depth}
}

// Admit keeps d batches ahead of what the learner took.
func (p *LlamaRL) Admit(v View) int { return v.Taken + p.Depth*v.Batch - v.Submitted }

// Batch is the next in the order of submission.
func (*LlamaRL) Batch(v View) []*Sample { return batchWithin(v, 1) }

var llamaRLSpec = method.Spec{
	Name: "llamarl", Aliases: []string{"llama_rl", "aipo"},
	Does:           "Generates batches ahead of the trainer, in order; a worker loads new weights between requests.",
	When:           "Use it for a pipeline with a queue of depth batches, together with the loss aipo.",
	Source:         "LlamaRL, arXiv:2505.24034",
	Formula:        "Admit = taken + d·B - submitted; Batch = the next B in the order of submission",
	Reconstruction: "The rule is that of a one-step queue of depth d with updates per worker: inferred.",
}
