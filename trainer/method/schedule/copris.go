package schedule

import "driftlab/trainer/method"

// CoPRIS holds the number of running samples constant, stops at B, continues the
// rest first, and knows the learner's log-prob of every token at its own version.
//
//	N' in flight throughout the rollout; stop at B; the unfinished go on first
//	old: at each stop the learner scores what is partial, and keeps the new suffix
//
// Source: CoPRIS, 2511.05589 (verl/experimental/agent_loop, ppo/ray_trainer.py).
// What is carried over must stay below N'.
type CoPRIS struct {
	// Pool is N' in samples; 0 for what the slots hold. Never less than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

// Traits says that generation and training share the devices.
func (*CoPRIS) Traits() Traits { return Traits{Colocated: true} }

// Admit fills the pool.
func (p *CoPRIS) Admit(v View) int {
	if !v.Idle || v.Unpublished > 0 {
		return 0
	}
	return pooled(v, p.Pool) - v.Running
}

// OnPublish lets the partial responses go on with the new weights.
func (*CoPRIS) OnPublish(View, *Worker) Reload { return Interrupt }

// Batch is the first to end.
func (*CoPRIS) Batch(v View) []*Sample { return batchFirst(v) }

// Old is scored at every stop, at the price of scoring prefixes again.
func (*CoPRIS) Old() Old { return AtInterrupt }

// Bound is -1.
func (*CoPRIS) Bound() int { return -1 }

var coprisSpec = method.Spec{
	Name: "copris", Aliases: []string{"concurrency_controlled"}, Group: "schedule", Unit: method.System,
	Source:   "CoPRIS, arXiv:2511.05589; its verl/experimental/agent_loop, ppo/ray_trainer.py",
	Formula:  "N' in flight; stop at B; the unfinished first; old(token) = π_v(token), scored at the stop",
	Gradient: "none: a schedule chooses weights",
	Example: "N' = 8, B = 4: whenever a sample ends another begins, until four are done\n" +
		"up to seven go on in the next rollout, before new ones\n" +
		"a response of three stages is scored three times, its prefix each time",
}
