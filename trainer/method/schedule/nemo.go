package schedule

import (
	"cmp"
	"slices"

	"driftlab/trainer/method"
)

// nemoSource is where NeMo RL's four samplers are.
const nemoSource = "NVIDIA-NeMo/RL nemo_rl/algorithms/async_utils/staleness_sampler.py, single_controller.py, "

// nemoInferred is what the four have in common.
const nemoInferred = "A batch is taken whole; NeMo RL can hand over parts of it (min_groups_for_streaming_train). "

// nemoTraits are those of a sampler: without updates in flight a worker ends its requests before it loads, with
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
	// Freshest takes the youngest first (sample_freshest_first); without it the order is that of dispatch.
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
	if v.Version-s.Version > p.MaxStaleness {
		return Drop
	}
	return Take
}

var nemoWindowedSpec = method.Spec{
	Name: "nemo_windowed", Aliases: []string{"nemo_rl"},
	Does:           "Generates without regard to the trainer, trains samples dispatched at most max_staleness_versions ago, and drops older ones, running or done.",
	When:           "Use it to model NeMo RL's windowed sampler; with long responses and a small window it trains mostly on short ones.",
	Source:         nemoSource + "WindowedSampler",
	Formula:        "Admit = concurrency - run while done < buffer\nBatch = B done with V - m ≤ start ≤ V, oldest or freshest first; drop and abort if start < V - m",
	Reconstruction: nemoInferred + "The buffer's default there is 64 groups.",
}

// nemoReadyFirst admits by AReaL's count and takes whatever is done: no sample is dropped, and none has a bound.
type nemoReadyFirst struct {
	// MaxStaleness is m, max_staleness_versions.
	MaxStaleness int `yaml:"max_staleness_versions" default:"1" range:"[0,1024]"`
	// InFlight loads new weights while requests run (in_flight_weight_updates).
	InFlight bool `yaml:"in_flight"`
}

// Traits implements Policy.
func (p *nemoReadyFirst) Traits() Traits { return nemoTraits(boundOfCount(p.MaxStaleness), p.InFlight) }

// Admit lets one batch per version in, m ahead.
func (p *nemoReadyFirst) Admit(v View) int { return v.ahead(p.MaxStaleness*v.Batch, v.Version) }

var nemoReadyFirstSpec = method.Spec{
	Name: "nemo_ready_first", Aliases: []string{"nemo_ready"},
	Does:           "Dispatches one batch per update, max_staleness_versions batches ahead of the trainer, and trains whatever is done.",
	When:           "Use it to model NeMo RL's ready-first sampler: the mean staleness is limited, that of one sample is not.",
	Source:         nemoSource + "ReadyFirstSampler",
	Formula:        "Admit = (m + V + 1)·B - (acc + run)\nBatch = the B done samples with the oldest dispatch",
	Reconstruction: nemoInferred + "A refused sample leaves the count, or the trainer would wait for its batch for ever.",
}

// nemoWeightFIFO admits as ready-first does and trains the samples of one version before those of the next. Its
// batch is that of RollFlash with an asynchronous ratio of m, counted in versions.
type nemoWeightFIFO struct {
	// MaxStaleness is m, max_staleness_versions.
	MaxStaleness int `yaml:"max_staleness_versions" default:"1" range:"[0,1024]"`
	// InFlight loads new weights while requests run (in_flight_weight_updates).
	InFlight bool `yaml:"in_flight"`
}

// Traits implements Policy.
func (p *nemoWeightFIFO) Traits() Traits { return nemoTraits(p.MaxStaleness, p.InFlight) }

// Admit lets one batch per version in, m ahead.
func (p *nemoWeightFIFO) Admit(v View) int { return v.ahead(p.MaxStaleness*v.Batch, v.Version) }

// Batch goes from the oldest dispatch to the newest and waits for an older one.
func (p *nemoWeightFIFO) Batch(v View) []*Sample {
	return (&RollFlash{RatioPercent: 100 * p.MaxStaleness}).Batch(v)
}

var nemoWeightFIFOSpec = method.Spec{
	Name: "nemo_weight_fifo", Aliases: []string{"weight_fifo"},
	Does:           "Trains all samples dispatched under one version of the weights before those of the next version.",
	When:           "Use it to model NeMo RL's weight-FIFO sampler: every sample is at most max_staleness_versions old, and the trainer waits for stragglers.",
	Source:         nemoSource + "WeightFifoSampler",
	Formula:        "Admit = (m + V + 1)·B - (acc + run)\nBatch: t = the smallest start in [V - m, V], running or done; done samples of t, then of the next",
	Reconstruction: nemoInferred + "Where a refused sample leaves a version short of a batch, the next version's fill it; NeMo RL's sampler would wait.",
}

// nemoInOrder stamps each batch with the update that it is for. It is windowedFIFO with a window of one sample.
type nemoInOrder struct {
	// MaxStaleness is m, max_staleness_versions.
	MaxStaleness int `yaml:"max_staleness_versions" default:"1" range:"[0,1024]"`
	// InFlight loads new weights while requests run (in_flight_weight_updates).
	InFlight bool `yaml:"in_flight"`
}

// Traits implements Policy.
func (p *nemoInOrder) Traits() Traits { return nemoTraits(p.MaxStaleness, p.InFlight) }

// Admit lets one batch per version in, m ahead.
func (p *nemoInOrder) Admit(v View) int { return v.ahead(p.MaxStaleness*v.Batch, v.Version) }

// Batch is the next in the order of dispatch.
func (*nemoInOrder) Batch(v View) []*Sample { return batchWithin(v, 1) }

var nemoInOrderSpec = method.Spec{
	Name: "nemo_in_order", Aliases: []string{"in_order"},
	Does:    "Trains batches in the order of dispatch: each batch is for one update, at most max_staleness_versions after its dispatch.",
	When:    "Use it to model NeMo RL's in-order sampler: the trained samples do not depend on which response ends first.",
	Source:  nemoSource + "InOrderSampler",
	Formula: "Admit = (m + V + 1)·B - (acc + run), target = the index of the batch\nBatch = the samples whose target is V",
	Reconstruction: nemoInferred + "The place of a refused sample goes to the next one in the order of dispatch. " +
		"StaleFlow (arXiv:2601.12784), read through a note, is this rule with a target that is chosen among several buffers; which one a reservation takes is not public, so it is left out.",
}
