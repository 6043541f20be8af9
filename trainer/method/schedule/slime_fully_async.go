package schedule

import "driftlab/trainer/method"

// SlimeFullyAsync keeps a constant pool running, without any bound on the lag.
//
//	Admit = pool - run, while fewer than the pool wait;  Batch = B in the order of their end
//	OnPublish = Interrupt: aborted responses begin again
//
// Source: THUDM/slime examples/fully_async/fully_async_rollout.py.
type SlimeFullyAsync struct {
	// Pool is the number of samples in flight; 0 for what the slots hold. Never
	// less than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

// Traits says that an aborted response is thrown away.
func (*SlimeFullyAsync) Traits() Traits { return Traits{Cache: Restart} }

// Admit fills the pool.
func (p *SlimeFullyAsync) Admit(v View) int {
	pool := pooled(v, p.Pool)
	if len(v.Done) >= pool {
		return 0
	}
	return pool - v.Running
}

// pooled is a number of samples in flight: 0 stands for what the slots hold, and a
// batch is the least.
func pooled(v View, pool int) int {
	if pool == 0 {
		pool = v.room()
	}
	return max(pool, v.Batch)
}

// OnPublish aborts.
func (*SlimeFullyAsync) OnPublish(View, *Worker) Reload { return Interrupt }

// Batch takes from the front of the queue.
func (*SlimeFullyAsync) Batch(v View) []*Sample { return batchFirst(v) }

// Bound is -1.
func (*SlimeFullyAsync) Bound() int { return -1 }

var slimeFullyAsyncSpec = method.Spec{
	Name: "slime_fully_async", Aliases: []string{"slime"}, Group: "schedule", Unit: method.System,
	Source:   "THUDM/slime examples/fully_async/fully_async_rollout.py",
	Formula:  "pool of constant size; Batch = B in the order of their end; aborted groups begin again",
	Gradient: "none: a schedule chooses weights",
	Example: "pool 8, B = 4: eight samples run at any time\n" +
		"when weights are published the running ones begin again: a long one may never end\n" +
		"done samples wait without growing out of use",
	Reconstruction: "That an aborted group is requeued from its prompt, response by response, is inferred.",
}
