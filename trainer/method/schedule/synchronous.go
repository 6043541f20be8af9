package schedule

import "errors"

// Sync generates every step's rollouts from the weights the step starts with. One
// version at a time: publication finds no running work. The wall time of a step is the sum
// of generation, scoring, training and synchronisation.
type Sync struct{}

// Traits implements Policy.
func (*Sync) Traits() Traits {
	return Traits{Colocated: true, InOrder: true}
}

// Admit is a whole batch, once the last step is over.
func (*Sync) Admit(v View) int { return admitWhole(v) }

// admitWhole submits a batch when the step before it is over, and another sample for
// each of it that is refused.
func admitWhole(v View) int {
	missing := (v.Step+1)*v.Batch - v.kept()
	if v.Unpublished > 0 || missing == v.Batch && !v.Idle {
		return 0
	}
	return missing
}

// distFlow is the synchronous loop with its data handed out by several controllers.
// The algorithm and the weights are the same as in Sync.
type distFlow struct {
	Sync `yaml:"-"`
	// Service is c, the ticks of a controller per sample.
	Service int `yaml:"service" default:"10000" range:"[0,1000000000]"`
	// Controllers is W. 1 is a single controller.
	Controllers int `yaml:"controllers" default:"8" range:"[1,2^16]"`
}

// Traits are the traits of Sync, with the controllers' time.
func (p *distFlow) Traits() Traits {
	t := p.Sync.Traits()
	t.Service = ceilDiv(p.Service, p.Controllers)
	return t
}

// OneStepOff generates the next batch while the learner trains the present one. The
// weights go out before b(n) is trained, so that b(n+1) has a staleness of one update when it is used.
// Nothing is interrupted: all wait for the slowest response of the batch.
type OneStepOff struct {
	// Interval is the number of updates from one publication to the next: slime's
	// update_weights_interval.
	Interval int `yaml:"interval" default:"1" range:"[1,1024]"`
}

// Traits say that old log-probs are the sampler's, since bypass_mode is true in verl's recipe;
// a version is Interval updates.
func (p *OneStepOff) Traits() Traits {
	return Traits{InOrder: true, Interval: p.Interval, Waits: true, Old: Rollout, Bound: 1}
}

// Admit launches the next batch when the present one is with the learner.
func (p *OneStepOff) Admit(v View) int {
	if v.Running == 0 && v.Unpublished >= p.Interval {
		return 0
	}
	return v.Batch - v.Running - len(v.Done)
}

// Periodic synchronises once per iteration, generates all of it with these weights
// and trains what is finished meanwhile; one step after all: on policy, and at most twice
// as fast.
type Periodic struct {
	// Micro is the least number of samples the learner begins with.
	Micro int `yaml:"micro" default:"1" range:"[1,2^20]"`
}

// Traits say that old log-probs need no pass, since the learner has the sampler's weights.
func (p *Periodic) Traits() Traits {
	return Traits{Stream: p.Micro, Old: Rollout}
}

// Admit is a batch at the start of an iteration.
func (*Periodic) Admit(v View) int { return admitWhole(v) }

// Lag generates every step's rollouts from the weights of K updates ago: a
// fixed staleness, the simplest stand-in for an asynchronous system.
type Lag struct {
	// K is the staleness in optimiser updates, bounded since a run keeps as many past
	// weights; without lag it is sync. A step makes epochs x
	// minibatches updates. 1 is the one-step-off-policy pipeline.
	K int `yaml:"k" default:"1" range:"[0,1024]"`
	// Batches is the staleness in batches, in place of k; 0 for k. Methods that make several updates of a batch are compared at
	// equal batches: their rollouts are equally old in samples.
	Batches int `yaml:"batches" range:"[0,1024]"`
}

// Updates is the staleness in optimiser updates where a batch has perBatch of them.
func (l *Lag) Updates(perBatch int) int {
	if l.Batches > 0 {
		return l.Batches * perBatch
	}
	return l.K
}

// Traits implements Policy. Versions count batches.
func (l *Lag) Traits() Traits {
	behind := l.Updates(1)
	return Traits{Colocated: true, InOrder: true, Behind: behind, Bound: behind}
}

// Admit is the admission rule of Sync.
func (*Lag) Admit(v View) int { return admitWhole(v) }

// Validate refuses no lag at all.
func (l *Lag) Validate() error {
	switch {
	case l.Batches > 0 && l.K > 1:
		return errors.New("k and batches: give the lag in updates or in batches, not both")
	case l.Batches == 0 && l.K == 0:
		return errors.New("k 0: must be at least 1: use sync for no lag")
	}
	return nil
}

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

// oapl serves one policy for many updates, trains off it, and clears the buffer when it
// synchronises. Its loss regresses the log-ratio to the sampler and needs no old log-probs.
type oapl struct {
	// Interval is L, the updates from one synchronisation to the next.
	Interval int `yaml:"interval" default:"50" range:"[1,1024]"`
	// Keep leaves in the buffer what the synchronisation finds there, to be trained at
	// a lag.
	Keep bool `yaml:"keep"`
	// Pool is the number of samples in flight; 0 for what the slots hold. Never less
	// than a batch.
	Pool int `yaml:"pool" range:"[0,2^20]"`
}

// Traits: the bound is 0 versions, each of them Interval updates, where the buffer is
// cleared.
func (p *oapl) Traits() Traits {
	t := Traits{Reload: Interrupt, Cache: Restart, Interval: p.Interval, Old: Rollout}
	if p.Keep {
		t.Bound = Unbounded
	}
	return t
}

func (p *oapl) Admit(v View) int { return (&slimeFullyAsync{Pool: p.Pool}).Admit(v) }

// Verdict clears what older weights made.
func (p *oapl) Verdict(v View, s *Sample) Fate {
	return takeUnless(!p.Keep && s.Done() && s.Lag(v.Version) > 0, Drop)
}
