package schedule

import "driftlab/trainer/method"

// Sync generates every step's rollouts from the weights the step starts with.
//
//	version_roll(s) = version(s)
//
// Source: the synchronous loop of GRPO (2402.03300); verl's colocated trainer.
type Sync struct{}

// Lag is 0.
func (*Sync) Lag(int) int { return 0 }

// MaxLag is 0.
func (*Sync) MaxLag() int { return 0 }

// Validate returns nil: there is nothing to choose.
func (*Sync) Validate() error { return nil }

var syncSpec = method.Spec{
	Name: "sync", Aliases: []string{"on-policy"}, Group: "schedule", Unit: method.System,
	Source:   "synchronous GRPO, arXiv:2402.03300; verl's colocated trainer",
	Formula:  "version_roll(s) = version(s)",
	Gradient: "none: a schedule chooses weights",
	Example: "step 0: rollouts from version 0, one update -> version 1\n" +
		"step 1: rollouts from version 1, one update -> version 2\n" +
		"step 2: rollouts from version 2: never a stale token",
}
