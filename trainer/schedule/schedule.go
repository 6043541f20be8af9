package schedule

import "driftlab/trainer/method"

// Schedule says how old the rollout weights of a step are. Implementations are
// pointers to parameter structs; one file each.
type Schedule interface {
	// Lag is the number of optimiser updates between the weights that generate
	// the rollouts of this step (counted from 0) and the learner's weights at
	// its start. Early in a run there may have been fewer updates: the initial
	// weights then stand in.
	Lag(step int) int
	// MaxLag bounds Lag over all steps: how many past weights must be kept.
	MaxLag() int
	// Validate returns an error that names the field at fault.
	Validate() error
}

// Registry holds every schedule a recipe can name.
var Registry = method.Table[Schedule]{
	{Spec: syncSpec, New: func() Schedule { return &Sync{} }},
	{Spec: lagSpec, New: func() Schedule { return &Lag{K: 1} }},
}
