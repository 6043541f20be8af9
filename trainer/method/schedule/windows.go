package schedule

import (
	"cmp"
	"slices"
)

// nemoTraits are the traits of a sampler: without updates in flight a worker ends its requests before it loads, with
// them they go on with the old keys and values (recompute_kv_cache_after_weight_updates is false).
func nemoTraits(bound int, inFlight bool) Traits {
	t := Traits{InOrder: true, Bound: bound}
	if inFlight {
		t.Reload, t.Cache = Interrupt, KeepStale
	}
	return t
}

// NeMoWindowed keeps generating whatever the trainer does, trains what is at most m versions old, counted from
// dispatch, and throws away what is older, running or done.
type NeMoWindowed struct {
	// MaxStaleness is m, max_staleness_versions.
	MaxStaleness int `yaml:"max_staleness_versions" default:"1" range:"[0,1024]"`
	// Freshest takes the youngest first (sample_freshest_first); without it samples come in the order of dispatch.
	Freshest bool `yaml:"sample_freshest_first"`
	// Concurrent is the most samples in flight; 0 for what the slots hold.
	Concurrent int `yaml:"concurrent" range:"[0,2^20]"`
	// Buffered is the most samples that wait for the trainer, never less than a batch; 0 for m + 1 batches.
	Buffered int `yaml:"buffered" range:"[0,2^20]"`
	// InFlight loads new weights while requests run (in_flight_weight_updates).
	InFlight bool `yaml:"in_flight"`
}

// Traits implements Policy.
func (p *NeMoWindowed) Traits() Traits { return nemoTraits(p.MaxStaleness, p.InFlight) }

// Admit is what concurrency leaves, unless the buffer is full.
func (p *NeMoWindowed) Admit(v View) int {
	if len(v.Done) >= max(v.Batch, cmp.Or(p.Buffered, (p.MaxStaleness+1)*v.Batch)) {
		return 0
	}
	return cmp.Or(p.Concurrent, v.capacity()) - v.Running
}

// Batch is any that are done, by their order.
func (p *NeMoWindowed) Batch(v View) []*Sample {
	if !p.Freshest || len(v.Done) < v.Batch {
		return batchWhole(v)
	}
	youngest := slices.SortedFunc(slices.Values(v.Done), func(a, b *Sample) int {
		return cmp.Or(cmp.Compare(b.Version, a.Version), cmp.Compare(a.ID, b.ID))
	})
	return byID(youngest[:v.Batch])
}

// Verdict drops what was dispatched too long ago.
func (p *NeMoWindowed) Verdict(v View, s *Sample) Fate {
	return takeUnless(v.Version-s.Version > p.MaxStaleness, Drop)
}

// nemo is a sampler of NeMo RL that lets one batch per version in, m ahead.
type nemo struct {
	// MaxStaleness is m, max_staleness_versions.
	MaxStaleness int `yaml:"max_staleness_versions" default:"1" range:"[0,1024]"`
	// InFlight loads new weights while requests run (in_flight_weight_updates).
	InFlight bool `yaml:"in_flight"`

	order nemoOrder
}

// nemoOrder is the order in which a sampler takes what is done.
type nemoOrder int

const (
	// readyFirst takes whatever is done: no sample is dropped, and none has a bound.
	readyFirst nemoOrder = iota
	// weightFIFO trains the samples of one version before those of the next and waits for an older one. It takes
	// the batch that RollFlash takes with an asynchronous ratio of m, counted in versions.
	weightFIFO
	// inOrder stamps each batch with the update that it is for. It is windowedFIFO with a window of one sample.
	inOrder
)

func (p *nemo) Traits() Traits {
	if p.order == readyFirst {
		return nemoTraits(boundOfCount(p.MaxStaleness), p.InFlight)
	}
	return nemoTraits(p.MaxStaleness, p.InFlight)
}

// Admit is what the count leaves.
func (p *nemo) Admit(v View) int { return v.ahead(p.MaxStaleness*v.Batch, v.Version) }

// Batch takes samples in the sampler's order.
func (p *nemo) Batch(v View) []*Sample {
	switch p.order {
	case weightFIFO:
		return (&RollFlash{RatioPercent: 100 * p.MaxStaleness}).Batch(v)
	case inOrder:
		return batchWithin(v, 1)
	}
	return batchWhole(v)
}

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
	return v.free(cmp.Or(p.Pool, v.Batch), !p.Group) - max(0, len(v.Done)-2*v.Batch)
}

func (p *miles) Verdict(v View, s *Sample) Fate {
	fate := Drop
	if p.Retry {
		fate = Requeue
	}
	return takeUnless(p.MaxStaleness > 0 && s.Done() && s.Lag(v.Version) > p.MaxStaleness, fate)
}

// QueueDrop keeps every slot busy and puts what is done into a queue that drops its oldest entry when it is
// full: a free-running system, which no count holds back.
type QueueDrop struct {
	// Queue is q, the batches that the queue holds.
	Queue int `yaml:"queue" default:"1" range:"[1,1024]"`
	// SingleSlots frees a slot when its response ends; without it when all of the group's have.
	SingleSlots bool `yaml:"single_slots"`
}

// Traits implements Policy.
func (*QueueDrop) Traits() Traits { return Traits{Reload: Interrupt, Bound: Unbounded} }

// Admit fills the slots.
func (p *QueueDrop) Admit(v View) int { return v.free(v.capacity(), p.SingleSlots) }

// Verdict drops from the front of the queue.
func (p *QueueDrop) Verdict(v View, s *Sample) Fate {
	return takeUnless(len(v.Done) > p.Queue*v.Batch && v.Done[0] == s, Drop)
}

// tinkerPaced runs some batches ahead and waits for a sample that would become too old, in place of throwing it away.
type tinkerPaced struct {
	// MaxOffPolicy is max_steps_off_policy. Default 2 (ours).
	MaxOffPolicy int `yaml:"max_steps_off_policy" default:"2" range:"[0,1024]"`
	// Depth is pipeline_depth in batches, at most max_steps_off_policy.
	Depth int `yaml:"pipeline_depth" default:"1" range:"[0,1024]"`
}

// Traits: a response has the weights of one sampling client.
func (p *tinkerPaced) Traits() Traits { return Traits{Old: Rollout, Bound: p.MaxOffPolicy} }

func (p *tinkerPaced) Admit(v View) int {
	return v.ahead(min(p.Depth, p.MaxOffPolicy)*v.Batch, v.Version)
}

// Batch takes the oldest that are done, unless what is left could then not be trained in time.
func (p *tinkerPaced) Batch(v View) []*Sample {
	return inWindow(v, batchWhole(v), p.MaxOffPolicy, func(s *Sample) int { return s.Version })
}

// windowedFIFO takes samples almost in the order of submission: from a window that begins at the oldest one
// that is not taken yet and does not move until that one is. A count bounds what is active, so that a bound on
// every sample follows without dropping any.
type windowedFIFO struct {
	// Steps is S, target_offpolicy_steps.
	Steps int `yaml:"target_offpolicy_steps" default:"3" range:"[0,1024]"`
	// WindowPercent is window_fraction f in hundredths of the active samples. 0 is strict order.
	WindowPercent int `yaml:"window_percent" default:"30" range:"[0,100]"`
}

// window is W, in samples, for batches of that many.
func (p *windowedFIFO) window(batch int) int {
	return max(1, p.WindowPercent*(p.Steps+1)*batch/100)
}

// Traits: Bound is the greatest bound over batches.
func (p *windowedFIFO) Traits() Traits {
	return Traits{Reload: Interrupt, Bound: p.Steps + ceilDiv(p.WindowPercent*(p.Steps+1), 100)}
}

// Admit is what the count leaves: a place is free when the weights of its update are published.
func (p *windowedFIFO) Admit(v View) int { return v.ahead(p.Steps*v.Batch, v.Version) }

func (p *windowedFIFO) Batch(v View) []*Sample { return batchWithin(v, p.window(v.Batch)) }
