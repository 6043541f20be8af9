package schedule

import "driftlab/trainer/method"

// Sync generates every step's rollouts from the weights the step starts with. One
// version at a time: publication finds no running work. The wall time of a step is the sum
// of generation, scoring, training and synchronisation.
type Sync struct{}

// Traits implements Policy.
func (*Sync) Traits() Traits {
	return Traits{Colocated: true, InOrder: true}
}

// Admit is a whole batch, once the last step is over.
func (*Sync) Admit(v View) int { return admitWhole(v) }

// admitWhole submits a batch when the step before it is over, and another sample for
// each of it that is refused.
func admitWhole(v View) int {
	missing := (v.Step+1)*v.Batch - v.kept()
	if v.Unpublished > 0 || missing == v.Batch && !v.Idle {
		return 0
	}
	return missing
}

var syncSpec = method.Spec{
	Name: "sync", Aliases: []string{"on-policy"},
	Does:    "Generates each batch with the current weights and waits for it: generation and training alternate, and the staleness is zero.",
	When:    "Use it as the on-policy control, or where idle devices cost less than staleness.",
	Source:  "synchronous GRPO, arXiv:2402.03300; verl's colocated trainer",
	Formula: "version_roll(s) = version(s)",
}
