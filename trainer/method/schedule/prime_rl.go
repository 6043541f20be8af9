package schedule

import "driftlab/trainer/method"

// primeRL keeps a pool of requests running and throws away what is too old. The step
// that is being made is V + 1. A group ages as one: with a small m and long responses, no
// long sample is ever trained. Its loss divides by μ.
type primeRL struct {
	// MaxOffPolicy is m, max_off_policy_steps.
	MaxOffPolicy int `yaml:"max_off_policy" default:"8" range:"[0,1024]"`
	// Concurrent is the most samples in flight; 0 for what the slots hold.
	Concurrent int `yaml:"concurrent" range:"[0,2^20]"`
}

// Traits implements Policy.
func (p *primeRL) Traits() Traits {
	return Traits{Reload: Interrupt, Old: Rollout, Bound: p.MaxOffPolicy}
}

// Admit fills the pool, as long as a batch for every version in the window is not
// waiting already.
func (p *primeRL) Admit(v View) int {
	concurrent := p.Concurrent
	if concurrent == 0 {
		concurrent = v.capacity()
	}
	if len(v.Done) >= (p.MaxOffPolicy+1)*v.Batch {
		return 0
	}
	return concurrent - v.Running
}

// Verdict drops what is older than m.
func (p *primeRL) Verdict(v View, s *Sample) Fate { return youngerThan(v, s, p.MaxOffPolicy) }

// youngerThan takes a sample whose oldest token is at most so many versions old.
func youngerThan(v View, s *Sample, lag int) Fate {
	if s.Lag(v.Version) > lag {
		return Drop
	}
	return Take
}

var primeRLSpec = method.Spec{
	Name: "prime_rl", Aliases: []string{"prime-rl"},
	Does:           "Keeps a pool of requests running and cancels samples that are more than max_off_policy steps old.",
	When:           "Use it to model prime-rl, where every trained sample respects the staleness limit and cancelled tokens are wasted.",
	Source:         "PrimeIntellect-ai/prime-rl orchestrator/{dispatcher,train_sink,utils}.py",
	Formula:        "keep iff V0 ≥ (step - 1) - m; cancelled in flight before each load, swept before each batch",
	Reconstruction: "The pool is what the slots hold, and pauses while m + 1 batches wait; KV caches are computed anew.",
}
