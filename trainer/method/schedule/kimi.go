package schedule

import "driftlab/trainer/method"

// kimi gives every response a budget of tokens per iteration; what is left over
// goes on in the next. B are in flight at the start of each iteration.
type kimi struct {
	// Budget is the tokens of a response per iteration.
	Budget int `yaml:"budget" default:"4096" range:"[1,2^24]"`
}

// Traits implements Policy.
func (p *kimi) Traits() Traits {
	return Traits{Colocated: true, Quota: p.Budget, Reload: Interrupt, Bound: Unbounded}
}

// Admit fills up to a batch at the start of an iteration.
func (*kimi) Admit(v View) int {
	if !v.Idle || v.Unpublished > 0 {
		return 0
	}
	return v.Batch - v.Running - len(v.Done)
}

// Batch is what is done when nothing goes on, and nothing that was refused is to come
// again.
func (*kimi) Batch(v View) []*Sample {
	if v.Active > 0 || v.Running+len(v.Done) < v.Batch {
		return nil
	}
	return byID(v.Done)
}

var kimiSpec = method.Spec{
	Name: "kimi", Aliases: []string{"partial_rollout"},
	Does:           "Gives each response a token budget per iteration and continues unfinished responses in the next iteration: partial rollouts.",
	When:           "Use it for very long responses, if a response may have tokens of several policy versions.",
	Source:         "Kimi k1.5, arXiv:2501.12599",
	Formula:        "at most budget tokens of a response per iteration; Batch = what is done then; the rest goes on in the next",
	Reconstruction: "The budget and its default are from memory; repetition, which Kimi ends early, is a matter of the reward. If nothing is done when all budgets are used up, they begin anew without an update.",
}
