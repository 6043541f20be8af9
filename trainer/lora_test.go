package trainer

import (
	"slices"
	"testing"
)

// lowRank is a run with adapters whose engines, in bf16, apply them in those ways.
func lowRank(rollout, learner string, sets ...string) []string {
	return append([]string{"eval.every=0", "lora={rank: 2, alpha: 4}", "rollout.numerics={base: bf16, adapters: " + rollout + "}",
		"learner.numerics={base: bf16, adapters: " + learner + "}", "learner.optimizer={lr: 0.05, weight_decay: 0}"}, sets...)
}

// Adapters that are merged in one engine and separate in the other open a gap at the first
// update; the same way in both engines the gap is exactly zero at every step.
func TestMergedAgainstUnmerged(t *testing.T) {
	for _, rollout := range []string{"merged", "unmerged", "unmerged:fp32"} {
		for _, learner := range []string{"merged", "unmerged"} {
			s := sessionOf(t, Options{}, lowRank(rollout, learner)...)
			base := slices.Clone(s.learner.Params().Theta)
			steps(t, s, 4, func(step int) {
				unequal := s.figure(t, "gap/unequal")
				if differs := rollout != learner && step > 0; (unequal > 0) != differs {
					t.Errorf("%s against %s, step %d: %v of the log-probs differ", rollout, learner, step, unequal)
				}
			})
			p := s.learner.Params()
			if slices.Equal(base, p.Theta) || !slices.Equal(base, p.LoRA.Base.Theta) {
				t.Errorf("%s against %s: the frozen weights move, or the merged ones do not", rollout, learner)
			}
		}
	}
}

// A run that goes on from a snapshot has the bits of one that was not interrupted, whatever
// remembers weights: versions, a moving average, workers on a clock, a partial sync.
func TestLoRAIsResumed(t *testing.T) {
	for _, sets := range [][]string{
		nil,
		{"schedule={name: lag, k: 2}"},
		{"schedule=pipeline_rl"},
		{"anchor=ewma", "learner.minibatches=2", "kl={name: k1, in: loss, coef: 0.1}"},
		{"rollout.weight_sync={missed: [attention], from: 2}"},
		{"guards=[gradient_alignment]"},
		{"rollout.speculative={drafter: self, draft: 3, refresh: 2}"},
	} {
		goesOn(t, killedAt(3, 2), lowRank("merged", "unmerged", sets...)...)
	}
}
