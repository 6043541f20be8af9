package simulation

import "math"

// FreeRunning is a system whose slots are always full and whose samples go through a queue to the trainer, as the
// closed forms of its mean age see it. The mean age is the mean lag of trained samples, in versions, with weights
// that reach running requests at once.
//
// Source: Applied Compute, appliedcompute.com/research/staleness-in-fully-async-rl (July 2026), in two transcripts
// that agree; that whole-group slots lose the factor Tail follows from Little's law on groups and is ours.
type FreeRunning struct {
	// Concurrency is C, the responses in flight; Batch is B, the responses per update.
	Concurrency, Batch float64
	// Tail is M, the mean of a group's longest length over the mean length, at least 1.
	Tail float64
	// SingleSlots says that a response frees its slot when it ends; without it a group frees all of its slots
	// when its last response ends.
	SingleSlots bool
	// Utilisation is rho, the throughput of the rollout over that of the trainer: below 1 the trainer's busy share.
	Utilisation float64
	// Queue is q, the batches that the queue holds before it drops its oldest sample.
	Queue float64
}

// beforeQueue is the mean number of versions from a sample's first token to the queue: C/B, times M with single
// slots. Above a utilisation of 1 an update takes longer than the rollout of a batch, and fewer of them pass.
func (f FreeRunning) beforeQueue() float64 {
	age := f.Concurrency / f.Batch
	if f.SingleSlots {
		age *= f.Tail
	}
	return age / math.Max(1, f.Utilisation)
}

// inQueue is the mean number of versions from there to training: rho below a utilisation of 1 and
// (2q + rho - 1)/(2 rho) above it. The two meet at 1 for q = 1 alone.
func (f FreeRunning) inQueue() float64 {
	if f.Utilisation <= 1 {
		return f.Utilisation
	}
	return (float64(2*f.Queue) + f.Utilisation - 1) / float64(2*f.Utilisation)
}

// MeanAge is the sum of both. It does not contain the mean length.
func (f FreeRunning) MeanAge() float64 { return f.beforeQueue() + f.inQueue() }

// Tail estimates M of a group of so many responses from that many prompts of the law.
func (l Law) Tail(seed uint64, group, prompts int) float64 {
	var ends []int
	longest, sum := 0, 0
	for prompt := range prompts {
		most := 0
		for response := range group {
			ends = l.turns(ends[:0], seed, prompt, response)
			n := ends[len(ends)-1]
			sum, most = sum+n, max(most, n)
		}
		longest += most
	}
	return ratio(float64(longest*group), float64(sum))
}
