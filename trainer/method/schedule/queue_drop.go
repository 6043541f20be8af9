package schedule

import "driftlab/trainer/method"

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
func (p *QueueDrop) Admit(v View) int { return v.room(v.capacity(), p.SingleSlots) }

// Verdict drops from the front of the queue.
func (p *QueueDrop) Verdict(v View, s *Sample) Fate {
	if len(v.Done) > p.Queue*v.Batch && v.Done[0] == s {
		return Drop
	}
	return Take
}

var queueDropSpec = method.Spec{
	Name: "queue_drop", Aliases: []string{"drop_oldest"},
	Does:           "Generates without pause into a queue of q batches, and drops the oldest samples of the queue when it is full.",
	When:           "Use it as the free-running reference for the mean staleness; dropping from the queue favours no length, unlike a limit on the age.",
	Source:         "Applied Compute, appliedcompute.com/research/staleness-in-fully-async-rl, July 2026",
	Formula:        "all slots busy; done samples beyond q·B: the oldest ends are dropped\nBatch = B in the order of their end",
	Reconstruction: "The source was read in two transcripts that agree. The queue is cut when the trainer takes a batch and at publications, which leaves what cutting at every end leaves.",
}
