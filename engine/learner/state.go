package learner

import "fmt"

// State is everything a learner carries from one update to the next, in addition to
// the parameters: what an interrupted run saves.
type State struct {
	// First and Second are AdamW's moments, laid out like the parameters; they
	// share the learner's memory.
	First, Second []float32
	// Updates is the number of updates made.
	Updates int
	// Scale and Clean are the loss scale and the clean gradients since it changed.
	Scale float64
	Clean int
}

// State returns the state; it is valid until the next update.
func (l *Learner) State() State {
	return State{l.adam.m, l.adam.v, l.adam.updates, l.scale.scale, l.scale.clean}
}

// SetState restores a state and takes up the parameters as they are now.
func (l *Learner) SetState(s State) error {
	if len(s.First) != len(l.adam.m) || len(s.Second) != len(l.adam.v) {
		return fmt.Errorf("optimiser state has %d and %d values, the model has %d parameters", len(s.First), len(s.Second), len(l.adam.m))
	}
	copy(l.adam.m, s.First)
	copy(l.adam.v, s.Second)
	l.adam.updates = s.Updates
	l.scale.scale, l.scale.clean = s.Scale, s.Clean
	l.stale = true
	return nil
}
