package trainer

import (
	"slices"
	"testing"
)

// recurring gives a run prompts that come back, and blocks that fit into them.
var recurring = []string{"rollout.pool={prompts: 6}", "eval.every=0"}

// cached is a run with a shared prefix cache of that policy, none for an empty one.
func cached(policy string, sets ...string) []string {
	sets = append(slices.Clone(recurring), sets...)
	if policy != "" {
		sets = append(sets, "rollout.shared_prefix_cache={policy: "+policy+", block_tokens: 2}")
	}
	return sets
}

// A prefix cache that survives weight syncs opens a gap between equal engines as soon as
// prompts come back, and says how old the prefixes are. With a flush or a salt the gap is
// exactly the floor, and the run has the bits of one without a cache.
func TestStalePrefixesOpenAGap(t *testing.T) {
	without := tinyRun(t, cached("")...)
	for _, policy := range []string{"flush", "salt", "none"} {
		s, stale := sessionOf(t, Options{}, cached(policy)...), policy == "none"
		steps(t, s, 6, func(step int) {
			gap, age := s.figure(t, "gap/k3"), s.figure(t, "prefix_cache/max_age")
			if old := stale && step > 0; (gap > 0) != old || (age > 0) != old || (s.figure(t, "prefix_cache/stale_responses") > 0) != old {
				t.Errorf("%s, step %d: k3 %v with prefixes of %v updates ago", policy, step, gap, age)
			}
			if rate := s.figure(t, "prefix_cache/hit_rate"); stale && step > 1 && rate < 0.4 || !stale && rate != 0 {
				t.Errorf("%s, step %d: a hit rate of %v", policy, step, rate)
			}
		})
		if same := slices.Equal(without.Params.Theta, s.learner.Params().Theta); same == stale {
			t.Errorf("%s: the weights are those of a run without a cache: %t", policy, same)
		}
	}
}

// Under frozen weights a cache that nothing empties is found again at every step, and the
// gap is exactly the floor.
func TestPrefixesOfFrozenWeights(t *testing.T) {
	s := sessionOf(t, Options{}, cached("none", "learner.optimizer={lr: 1e-300, weight_decay: 0}")...)
	steps(t, s, 5, func(step int) {
		if unequal, rate := s.figure(t, "gap/unequal"), s.figure(t, "prefix_cache/hit_rate"); unequal != 0 || step > 0 && rate < 0.3 {
			t.Errorf("step %d: %v of the log-probs are unequal, hit rate %v", step, unequal, rate)
		}
	})
}

// A run that goes on from a snapshot, on more workers, has the blocks of one that was not
// interrupted: on a clock too, where every worker has a cache.
func TestPrefixesAreResumed(t *testing.T) {
	for _, schedule := range []string{"sync", "{name: lag, k: 2}", "skyrl", "pipeline_rl"} {
		whole := goesOn(t, killedAt(3, 2), cached("none", "schedule="+schedule)...)
		flushed := tinyRun(t, cached("flush", "schedule="+schedule)...)
		if slices.Equal(whole.Params().Theta, flushed.Params.Theta) {
			t.Errorf("%s: no prefix is stale", schedule)
		}
		if without := tinyRun(t, cached("", "schedule="+schedule)...); !slices.Equal(without.Params.Theta, flushed.Params.Theta) {
			t.Errorf("%s: a cache that is flushed changes the run", schedule)
		}
	}
}
