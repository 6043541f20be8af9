package schedule

import "driftlab/trainer/method"

// copris holds the number of running samples constant, stops at B, continues the
// rest first, and knows the learner's log-prob of every token at its own version: at each
// stop the learner scores what is partial. What is carried over must stay below N'.
type copris struct {
	// Pool is N' in samples; 0 for what the slots hold. Never less than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

// Traits implements Policy.
func (*copris) Traits() Traits {
	return Traits{Colocated: true, Reload: Interrupt, Old: AtInterrupt, Bound: Unbounded}
}

// Admit fills the pool.
func (p *copris) Admit(v View) int {
	if !v.Idle || v.Unpublished > 0 {
		return 0
	}
	return pooled(v, p.Pool) - v.Running
}

var coprisSpec = method.Spec{
	Name: "copris", Aliases: []string{"concurrency_controlled"},
	Does:    "Keeps a constant number of samples in flight, stops at a full batch, and scores partial responses with the weights that generated them.",
	When:    "Use it for partial rollouts when the correction needs each token's log-prob under its own version of the weights.",
	Source:  "CoPRIS, arXiv:2511.05589; its verl/experimental/agent_loop, ppo/ray_trainer.py",
	Formula: "N' in flight; stop at B; the unfinished first; old(token) = π_v(token), scored at the stop",
}
