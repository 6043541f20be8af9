package schedule

import "driftlab/trainer/method"

// Sync generates every step's rollouts from the weights the step starts with.
//
//	version_roll(s) = version(s)
//	Admit = B if nothing is in flight or waiting and the learner is idle; then what
//	        is refused of them
//	Batch = all B, when the last is done, by ID
//
// Source: the synchronous loop of GRPO (2402.03300); verl's colocated trainer.
// One version at a time: publication finds no running work. The wall time of a
// step is the sum of generation, scoring, training and synchronisation.
type Sync struct{}

// Lag is 0.
func (*Sync) Lag(int) int { return 0 }

// MaxLag is 0.
func (*Sync) MaxLag() int { return 0 }

// Traits says that generation and training share the devices.
func (*Sync) Traits() Traits { return Traits{Colocated: true} }

// Admit is a whole batch, once the last step is over.
func (*Sync) Admit(v View) int { return admitWhole(v) }

// OnPublish finds no running work.
func (*Sync) OnPublish(View, *Worker) Reload { return Drain }

// Batch waits for all.
func (*Sync) Batch(v View) []*Sample { return batchWhole(v) }

// Bound is 0.
func (*Sync) Bound() int { return 0 }

// admitWhole submits a batch when the step before it is over, and another sample for
// each of it that is refused.
func admitWhole(v View) int {
	missing := (v.Step+1)*v.Batch - v.kept()
	if v.Unpublished > 0 || missing == v.Batch && !v.Idle {
		return 0
	}
	return missing
}

// batchWhole is a batch by ID, when all of it is done.
func batchWhole(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	return byID(v.Done)[:v.Batch]
}

var syncSpec = method.Spec{
	Name: "sync", Aliases: []string{"on-policy"}, Group: "schedule", Unit: method.System,
	Source:   "synchronous GRPO, arXiv:2402.03300; verl's colocated trainer",
	Formula:  "version_roll(s) = version(s)",
	Gradient: "none: a schedule chooses weights",
	Example: "step 0: rollouts from version 0, one update -> version 1\n" +
		"step 1: rollouts from version 1, one update -> version 2\n" +
		"step 2: rollouts from version 2: never a stale token",
}
