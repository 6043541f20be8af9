package schedule

import (
	"cmp"
	"slices"
)

// View is what a Policy is given. The slices are the Core's own: a policy reads
// them and keeps nothing.
type View struct {
	// Now is the virtual time, in ticks.
	Now int
	// Version is that of the published weights, 0 at first; Step is the number of
	// updates made, Unpublished those of them that are not published yet.
	Version, Step, Unpublished int
	// Batch is the number of samples per update, Group the responses per sample.
	Batch, Group int
	// Submitted is the number of samples ever submitted; Running those that are
	// not done; Accepted those that were ever finished and not refused.
	Submitted, Running, Accepted int
	// Taken is the number of samples ever trained or refused; TrainedBefore those that
	// were trained by the last publication.
	Taken, TrainedBefore int
	// Idle says that the learner has nothing to do.
	Idle bool
	// Accumulated is the number of samples whose gradients wait for an update.
	Accumulated int
	// Active is the number of requests that decode, or will without a new version.
	Active int
	// Slots is the number of requests that all workers can serve at once,
	// SlotsEach that of one.
	Slots, SlotsEach int
	// Done are the samples that wait for the learner, in the order of their end.
	Done []*Sample
	// Flight are those that are not done, by ID.
	Flight []*Sample
	// Queue are the requests that wait for a slot, the first to be served first.
	Queue []*Request
	// Workers are all workers, by index.
	Workers []*Worker
	// Published says that weights were published at this very time.
	Published bool
	// Due says that the ticks of Traits.Every have gone by.
	Due bool
	// Costs are those of the clock.
	Costs Costs
}

// capacity is the number of whole samples that the slots can hold.
func (v View) capacity() int { return max(1, v.Slots/v.Group) }

// kept is the number of samples ever submitted and not refused.
func (v View) kept() int { return v.Accepted + v.Running }

// ahead is the admission rule of every system that counts: so many samples may be kept, running or
// done, in addition to those that the updates so far and the next one take. It bounds the mean lag by
// samples/Batch and, unless the order of consumption does, no single one.
func (v View) ahead(samples, updates int) int { return samples + (updates+1)*v.Batch - v.kept() }

// room is what a pool of so many samples leaves. With single slots, each response frees its own place when it
// ends, and a sample enters when a group's worth of places is free; without, a sample keeps all of its
// places until its last response ends.
func (v View) room(pool int, singleSlots bool) int {
	if singleSlots {
		return (pool*v.Group - v.Active) / v.Group
	}
	return pool - v.Running
}

// byID returns the samples in the order of their submission.
func byID(samples []*Sample) []*Sample {
	return slices.SortedFunc(slices.Values(samples), func(a, b *Sample) int { return cmp.Compare(a.ID, b.ID) })
}

// batchFirst is a batch in the order of their end, as soon as it is there.
func batchFirst(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	return byID(v.Done[:v.Batch])
}

// batchWhole is a batch by ID, when all of it is done.
func batchWhole(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	return byID(v.Done)[:v.Batch]
}

// batchWithin is the oldest batch, if none of it is further than a window from the oldest sample that still
// runs: taking a younger one does not move the window. A window of 1 is the order of submission.
func batchWithin(v View, window int) []*Sample {
	batch := batchWhole(v)
	if batch == nil || len(v.Flight) > 0 && batch[v.Batch-1].ID >= v.Flight[0].ID+window {
		return nil
	}
	return batch
}

// batchStreamed is what is done of a batch, at least so many of what is missing.
func batchStreamed(v View, micro int) []*Sample {
	missing := v.Batch - v.Accumulated
	k := min(len(v.Done), missing)
	if k < min(micro, missing) {
		return nil
	}
	return byID(v.Done[:k])
}

// Samples are the numbers of those that are in flight or wait for the learner, in
// order: a driver can forget the others.
func (c *Core) Samples() []int {
	var ids []int
	for _, s := range c.known() {
		ids = append(ids, s.ID)
	}
	return ids
}
