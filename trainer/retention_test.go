package trainer

import (
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// retentionMetrics are of the gap and must vanish with masks replayed.
var retentionMetrics = []string{"gap/k1", "gap/k3", "gap/dlogp_max", "gap/exact_kl", "gap/exact_tv", "gap/unequal"}

// TestRetentionReplay trains with a compressed KV cache. With the masks replayed,
// equal engines have no gap at all; without, they have.
func TestRetentionReplay(t *testing.T) {
	for _, policy := range []string{"window", "heavy_hitter"} {
		for _, replay := range []string{"true", "false"} {
			sets := []string{"rollout.kv_retention={policy: " + policy + ", keep: 0.4, sinks: 1, recent: 2}", "retention.replay=" + replay, "learner.minibatches=2",
				"rollout.numerics=bf16", "learner.numerics=bf16", "kl=k3"}
			if replay == "true" {
				sets = append(sets, "terms=[shadow_distillation, entropy]")
			}
			s := sessionOf(t, Options{}, sets...)
			s.objective.loss = &spy{inner: s.objective.loss, see: func(b *batch.Batch) {
				if b.Require(batch.KVKept) != nil {
					t.Error("the gradient's batch is without masks")
				}
			}}
			steps(t, s, 3, func(step int) {
				for _, name := range retentionMetrics {
					if gap := s.figure(t, name); (gap == 0) != (replay == "true") {
						t.Errorf("%s, replay %s, step %d: %s is %v", policy, replay, step, name, gap)
					}
				}
				if kept := s.figure(t, "rollout/kv_retained"); kept < 0.4 || kept > 0.9 {
					t.Errorf("%s: %v of the positions are kept", policy, kept)
				}
				if replay == "true" && !(s.figure(t, "actor/shadow_kl") > 0) {
					t.Errorf("%s, step %d: no distance to the shadow", policy, step)
				}
			})
			s.evaluate()
			if s.inRollout == s.inLearner {
				t.Error("the rollout engine's evaluation does not compress")
			}
		}
	}
}

// TestFullRetention changes no bit of a run, replayed or not.
func TestFullRetention(t *testing.T) {
	without := tinyRun(t, "rollout.numerics=bf16")
	for _, sets := range [][]string{nil, {"retention.replay=true", "terms=[shadow_distillation]"}} {
		with := tinyRun(t, append(sets, "rollout.numerics=bf16", "rollout.kv_retention={policy: heavy_hitter, keep: 1}")...)
		if !slices.Equal(without.Params.Theta, with.Params.Theta) {
			t.Errorf("%v: a cache that keeps everything changes the weights", sets)
		}
	}
}

// TestShadowDistillation lets the distillation act alone, where no response is
// right and there is nothing to reinforce: the dense policy moves towards its
// shadow, and without the term nothing moves.
func TestShadowDistillation(t *testing.T) {
	for _, terms := range []string{"[]", "[{name: shadow_distillation, coef: 1}]"} {
		s := sessionOf(t, Options{}, "rollout.kv_retention={keep: 0.4, sinks: 1, recent: 2}", "retention.replay=true", "terms="+terms, "reward=exact",
			"learner.optimizer.lr=3e-3")
		var distance []float64
		steps(t, s, 20, func(int) {
			if terms != "[]" {
				distance = append(distance, s.figure(t, "actor/shadow_kl"))
			}
		})
		moved := !slices.Equal(s.initial.Theta, s.learner.Params().Theta)
		if moved != (terms != "[]") {
			t.Errorf("terms %s: the weights moved: %t", terms, moved)
		}
		if moved && !(distance[19] < 0.5*distance[0]) {
			t.Errorf("KL of the dense policy to its shadow: %.4f", distance)
		}
	}
}
