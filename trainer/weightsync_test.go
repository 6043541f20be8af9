package trainer

import (
	"slices"
	"testing"
)

// synced is a run with a weight sync of those fields, none for empty ones.
func synced(fields string, sets ...string) []string {
	sets = append([]string{"eval.every=0"}, sets...)
	if fields != "" {
		sets = append(sets, "rollout.weight_sync={"+fields+"}")
	}
	return sets
}

// A sync that misses tensors opens a gap between equal engines at the first sync after an
// update, whichever tensors it misses, and says how old they are while every token claims
// the published version. A sync that misses nothing leaves no bit different.
func TestPartialSyncOpensAGap(t *testing.T) {
	whole := tinyRun(t, synced("")...)
	for _, missed := range []string{"[]", "[all]", "[router]", "[head, embedding]", "[norms]", "[attention]", "[experts]", `["model.layers.0.block_sparse_moe.experts.1.*"]`} {
		s, partial := sessionOf(t, Options{}, synced("missed: "+missed)...), missed != "[]"
		steps(t, s, 6, func(step int) {
			gap := s.figure(t, "gap/unequal")
			if old := partial && step > 0; (gap > 0) != old {
				t.Errorf("%s, step %d: %v of the log-probs differ", missed, step, gap)
			}
			if !partial {
				return
			}
			want := 0.0
			if step > 0 {
				want = 1
			}
			if age, tokens := s.figure(t, "weight_sync/max_age"), s.figure(t, "weight_sync/missed_tokens"); age != float64(step) || tokens != want {
				t.Errorf("%s, step %d: tensors of %v updates ago in %v of the tokens", missed, step, age, tokens)
			}
			for n, v := range s.batch.Version {
				if int(v) != step || s.batch.ActualVersion[n] != 0 {
					t.Fatalf("%s, step %d: a token claims version %d and is of %d", missed, step, v, s.batch.ActualVersion[n])
				}
			}
		})
		if same := slices.Equal(whole.Params.Theta, s.learner.Params().Theta); same == partial {
			t.Errorf("%s: the weights are those of a run with whole syncs: %t", missed, same)
		}
	}
}

// A share of the workers keeps old weights: their responses have a gap, the others none.
func TestStaleWorkersKeepOldWeights(t *testing.T) {
	s := sessionOf(t, Options{}, synced("missed: [all], workers: 0.25", "rollout.slots=3")...)
	steps(t, s, 4, func(step int) {
		b := &s.batch
		for i := range b.Len() {
			stale := step > 0 && i >= b.Len()-b.Len()/4
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				if int(b.ActualVersion[n]) != map[bool]int{false: step, true: 0}[stale] {
					t.Fatalf("step %d, response %d: weights of version %d", step, i, b.ActualVersion[n])
				}
			}
			if same := slices.Equal(b.LogpRoll[from:to], b.Old.Logp[from:to]); same == stale {
				t.Errorf("step %d, response %d: equal log-probs: %t", step, i, same)
			}
		}
	})
}

// A resume that begins with the first weights samples one batch with them; the syncs before
// and after are whole.
func TestResumeWithFirstWeights(t *testing.T) {
	for _, old := range []string{"initial", "last"} {
		s := sessionOf(t, Options{}, synced("missed: [all], from: 3, syncs: 1, old: "+old)...)
		steps(t, s, 5, func(step int) {
			want := map[bool]float64{false: 0, true: 3}[step == 3]
			if step == 3 && old == "last" {
				want = 1
			}
			if age, gap := s.figure(t, "weight_sync/max_age"), s.figure(t, "gap/unequal"); age != want || (gap > 0) != (step == 3) {
				t.Errorf("%s, step %d: weights of %v updates ago, %v of the log-probs differ", old, step, age, gap)
			}
		})
	}
}

// Under frozen weights a sync that misses everything changes no bit.
func TestPartialSyncOfFrozenWeights(t *testing.T) {
	s := sessionOf(t, Options{}, synced("missed: [all]", "learner.optimizer={lr: 1e-300, weight_decay: 0}")...)
	steps(t, s, 3, func(step int) {
		if unequal := s.figure(t, "gap/unequal"); unequal != 0 {
			t.Errorf("step %d: %v of the log-probs are unequal", step, unequal)
		}
	})
}

// A run that goes on from a snapshot, on more workers, has the bits of one that was not
// interrupted: on a clock too, where some workers miss the tensors and partial responses
// move between workers.
func TestPartialSyncIsResumed(t *testing.T) {
	for _, schedule := range []string{"sync", "{name: lag, k: 2}", "skyrl", "pipeline_rl", "slime_fully_async"} {
		sets := synced("missed: [router, attention], workers: 0.4, from: 2", "schedule="+schedule)
		partial := goesOn(t, killedAt(4, 2), sets...)
		if whole := tinyRun(t, synced("", "schedule="+schedule)...); slices.Equal(partial.Params().Theta, whole.Params.Theta) {
			t.Errorf("%s: nothing is missed", schedule)
		}
	}
}

// Routes that are recorded again when a partial response is read again leave a run without
// replay as it was, but for what is recorded; at equal weights they are the same routes.
func TestRecomputedRoutes(t *testing.T) {
	var flips [2]float64
	var trained [2][]float32
	for i, set := range []string{"rollout.recomputed_routes=false", "rollout.recomputed_routes=true"} {
		sets := []string{"eval.every=0", "schedule=areal", "learner.optimizer={lr: 0.05, weight_decay: 0}", "rollout.max_tokens=20", set}
		free := sessionOf(t, Options{}, sets...)
		steps(t, free, 6, func(int) { flips[i] += free.figure(t, "routes/flip_token") })
		trained[i] = slices.Clone(free.learner.Params().Theta)
		frozen := sessionOf(t, Options{}, append(sets, "routing.replay=r3", "learner.optimizer={lr: 1e-300, weight_decay: 0}")...)
		steps(t, frozen, 3, func(step int) {
			if unequal := frozen.figure(t, "gap/unequal"); unequal != 0 {
				t.Errorf("%s, step %d: %v of the log-probs differ", set, step, unequal)
			}
		})
	}
	if flips[0] == flips[1] || !slices.Equal(trained[0], trained[1]) {
		t.Errorf("flips %v: routes that are recorded again are those of the sampling, or they train", flips)
	}
}
