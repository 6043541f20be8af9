package schedule

import "driftlab/trainer/method"

// miles keeps a pool of responses running and checks the staleness of a sample when the trainer gets it.
type miles struct {
	// Pool is the cap in samples; 0 for a batch (rollout_batch_size).
	Pool int `yaml:"pool" range:"[0,2^20]"`
	// Group counts whole samples: a place is free when all responses of one have ended. Without it
	// (the default there) each response frees its own.
	Group bool `yaml:"group"`
	// MaxStaleness is max_weight_staleness in versions; 0 for none.
	MaxStaleness int `yaml:"max_weight_staleness" range:"[0,1024]"`
	// Retry submits the prompt of what is too old again; without it that is dropped.
	Retry bool `yaml:"retry"`
	// InPlace loads weights under running requests, whose keys and values stay (in_place); without it
	// these are computed again (retract).
	InPlace bool `yaml:"in_place"`
}

// Traits implements Policy.
func (p *miles) Traits() Traits {
	t := Traits{Reload: Interrupt, Bound: Unbounded}
	if p.InPlace {
		t.Cache = KeepStale
	}
	if p.MaxStaleness > 0 {
		t.Bound = p.MaxStaleness
	}
	return t
}

// Admit is what the pool leaves; samples beyond two batches that wait keep their places.
func (p *miles) Admit(v View) int {
	pool := p.Pool
	if pool == 0 {
		pool = v.Batch
	}
	return v.room(pool, !p.Group) - max(0, len(v.Done)-2*v.Batch)
}

// Verdict looks at what is done.
func (p *miles) Verdict(v View, s *Sample) Fate {
	switch {
	case p.MaxStaleness == 0 || !s.Done() || s.Lag(v.Version) <= p.MaxStaleness:
		return Take
	case p.Retry:
		return Requeue
	}
	return Drop
}

var milesSpec = method.Spec{
	Name: "miles", Aliases: []string{"miles_fully_async"},
	Does:   "Keeps a pool of responses running and checks the staleness of each sample when the trainer gets it; too old samples are dropped or submitted again.",
	When:   "Use it to model miles' fully asynchronous rollout, by single responses or by whole groups.",
	Source: "radixark/miles docs/user-guide/fully-async.md, miles/rollout/{fully_async_data_buffer,submission_scheduler}.py",
	Formula: "Admit: responses in flight + n ≤ pool·n, or samples in flight < pool\n" +
		"Batch = B in the order of their end; refused when taken if V - V0 > max_weight_staleness\nOnPublish = Interrupt; retract: Reprefill, in_place: KeepStale",
	Reconstruction: "What is too old is refused as soon as the trainer looks for a batch. A sample that finds the buffer full keeps its place in the pool in both modes: inferred. The weight update `abort` is left out.",
}
