package trainer

import (
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/trainertest"
)

// TestSupportReplay trains with truncated sampling. With the supports replayed,
// equal engines have no gap at all, in log-probs and distributions; without,
// the learner finds every response less likely by the kept mass.
func TestSupportReplay(t *testing.T) {
	for _, replay := range []string{"true", "false"} {
		s := sessionOf(t, Options{}, "rollout.top_p=0.8", "rollout.top_k=12", "support.replay="+replay, "learner.minibatches=2",
			"kl=k3", "terms=[entropy]")
		s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
			if len(b.Support) != b.Tokens() || slices.ContainsFunc(b.Support, func(kept []int32) bool { return len(kept) == 0 || len(kept) > 12 }) {
				t.Error("the gradient's batch is without supports")
			}
		}}
		steps(t, s, 4, func(step int) {
			for _, name := range []string{"gap/k1", "gap/k3", "gap/exact_kl", "gap/exact_tv"} {
				if gap := s.figure(t, name); replay == "true" && gap != 0 || replay == "false" && !(gap > 0.01) && strings.HasPrefix(name, "gap/k") {
					t.Errorf("replay %s, step %d: %s is %v", replay, step, name, gap)
				}
			}
			for n := range s.batch.Old.Logp {
				if replay == "false" && s.batch.Old.Logp[n] > s.batch.LogpRoll[n]+1e-7 {
					t.Fatalf("step %d, token %d: a ratio above 1 without replay", step, n)
				}
			}
			if step == 0 && replay == "true" && !slices.Equal(s.batch.Ref.Logp, s.batch.Old.Logp) {
				t.Error("the reference is not on the support")
			}
		})
	}
}

// TestSupportReplayOfNothing changes no bit where nothing is truncated.
func TestSupportReplayOfNothing(t *testing.T) {
	without := tinyRun(t, "rollout.numerics=bf16")
	with := tinyRun(t, "rollout.numerics=bf16", "support.replay=true")
	if !slices.Equal(without.Params.Theta, with.Params.Theta) {
		t.Error("replay of whole vocabularies changes the weights")
	}
}

// TestSupportReplayWithDistributions trains with every method that reads
// distributions, whose rows are -Inf outside the support: the run stops on NaN.
func TestSupportReplayWithDistributions(t *testing.T) {
	for _, sets := range [][]string{
		{"kl=exact", "terms=[entropy]"}, {"kl={name: exact, in: reward}"}, {"loss=dppo_topk"}, {"loss=trm"},
		{"loss={name: kl_cov, exact: true}"}, {"correction.masks=[trm]", "advantage=optimal_token_baseline"},
	} {
		r := trainertest.Recipe(t, append(sets, "rollout.numerics=bf16", "rollout.top_p=0.7", "support.replay=true", "learner.minibatches=2", "steps=3")...)
		mustRun(t, r, Options{})
	}
}
