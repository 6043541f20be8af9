package guard

import (
	"fmt"
	"slices"

	"driftlab/trainer/method/batch"
)

// Input is what a guard may look at in addition to the gradient.
type Input struct {
	// Batch is the minibatch the gradient was computed from.
	Batch *batch.Batch
	// Step is the number of training steps taken, from 0. Gradient steps of one
	// training step share it.
	Step int
}

// Decision is what becomes of a gradient step.
type Decision struct {
	// Scale multiplies the learning rate of this step only.
	Scale float64
	// Skip drops the step.
	Skip bool
}

// Guard decides about one gradient step. Implementations are pointers to
// parameter structs, one file each; those with a history are a method.Memory.
type Guard interface {
	// Guard reads, and may change, the gradient of the loss.
	Guard(grad []float32, in Input) (Decision, error)
	// Metrics appends the figures of the last decision.
	Metrics(dst []batch.Metric) []batch.Metric
}

// Withholder is a guard that can keep the masks of the correction from acting.
type Withholder interface {
	// Withholds reports whether the next batch is to be corrected without masks.
	Withholds() bool
}

// Withholds reports whether any guard does.
func Withholds(guards []Guard) bool {
	return slices.ContainsFunc(guards, func(g Guard) bool {
		w, ok := g.(Withholder)
		return ok && w.Withholds()
	})
}

// Apply asks the guards in order. Scales multiply; one skip is enough, but
// every guard is called at every step, so that its history has no holes.
func Apply(guards []Guard, grad []float32, in Input) (Decision, error) {
	all := Decision{Scale: 1}
	for i, g := range guards {
		d, err := g.Guard(grad, in)
		if err != nil {
			return all, fmt.Errorf("guards[%d]: %w", i, err)
		}
		all.Scale *= d.Scale
		all.Skip = all.Skip || d.Skip
	}
	return all, nil
}
