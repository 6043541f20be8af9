package schedule

import "driftlab/trainer/method"

// slimeFullyAsync keeps a constant pool running, without any bound on the lag, while
// fewer than the pool wait.
type slimeFullyAsync struct {
	// Pool is the number of samples in flight; 0 for what the slots hold. Never
	// less than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

// Traits implements Policy.
func (*slimeFullyAsync) Traits() Traits {
	return Traits{Reload: Interrupt, Cache: Restart, Bound: Unbounded}
}

// Admit fills the pool.
func (p *slimeFullyAsync) Admit(v View) int {
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
		pool = v.capacity()
	}
	return max(pool, v.Batch)
}

var slimeFullyAsyncSpec = method.Spec{
	Name: "slime_fully_async", Aliases: []string{"slime"},
	Does:           "Keeps a pool of constant size running without any limit on staleness; aborted groups start again from their prompt.",
	When:           "Use it to model slime's fully asynchronous example, together with a correction, since nothing limits the staleness.",
	Source:         "THUDM/slime examples/fully_async/fully_async_rollout.py",
	Formula:        "pool of constant size; Batch = B in the order of their end; aborted groups begin again",
	Reconstruction: "That an aborted group is requeued from its prompt, response by response, is inferred.",
}
