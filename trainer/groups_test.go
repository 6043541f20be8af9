package trainer

import (
	"slices"
	"testing"

	"driftlab/engine/rollout"
	"driftlab/trainer/engines"
	"driftlab/trainer/recipe"
)

// apart are four unequal groups of sixteen responses that stand between each other.
var apart = []int{8, 3, 8, 5, 3, 0, 8, 8, 5, 8, 3, 8, 0, 8, 8, 5}

// TestMinibatchesOfMixedGroups keeps unequal groups whole wherever they stand, and
// parts them only where there are more minibatches than groups.
func TestMinibatchesOfMixedGroups(t *testing.T) {
	for _, tc := range []struct {
		minibatches string
		whole       bool
	}{{"2", true}, {"4", true}, {"5", false}} {
		s := sessionOf(t, Options{}, "learner.minibatches="+tc.minibatches)
		s.generate(0)
		copy(s.batch.Group, apart)
		s.shuffle(0)
		var seen []int
		home, whole := map[int]int{}, true
		for m := range s.recipe.Learner.Minibatches {
			mini := s.minibatch(m)
			if !slices.IsSorted(s.rows) || len(s.rows) == 0 {
				t.Errorf("%s minibatches: responses %v", tc.minibatches, s.rows)
			}
			seen = append(seen, s.rows...)
			for _, g := range mini.Group {
				if at, ok := home[g]; ok && at != m {
					whole = false
				}
				home[g] = m
			}
		}
		slices.Sort(seen)
		for i := range s.batch.Len() {
			if len(seen) != s.batch.Len() || seen[i] != i {
				t.Fatalf("%s minibatches hold the responses %v", tc.minibatches, seen)
			}
		}
		if whole != tc.whole {
			t.Errorf("%s minibatches: whole groups %v", tc.minibatches, whole)
		}
	}
}

// TestGreedyOfMixedGroups gives every response the greedy reward of its own
// prompt, with one greedy response to a group.
func TestGreedyOfMixedGroups(t *testing.T) {
	s := sessionOf(t, Options{}, "advantage=remax")
	s.generate(0)
	first := map[int]int{8: 0, 3: 4, 5: 8, 0: 12} // a response of each prompt
	prompts := slices.Clone(s.prompts)
	for i, k := range apart {
		s.batch.Group[i], s.prompts[i] = k, prompts[first[k]]
	}
	g := stageOf[*greedy](s)
	must(t, g.run(s))
	if n := g.batch.Len(); n != 4 {
		t.Errorf("%d greedy responses for 4 groups", n)
	}
	want := map[int64]float64{}
	for k, p := range g.prompts { // rewards that differ by prompt
		g.batch.Reward[k] = float64(k)
		want[p.ID] = float64(k)
	}
	g.spread(&s.batch)
	for i, p := range s.prompts {
		if got := s.batch.GreedyReward[i]; got != want[p.ID] {
			t.Errorf("response %d has greedy reward %v, that of its prompt is %v", i, got, want[p.ID])
		}
	}
}

// TestCalibrationPrompts takes every group's prompt once.
func TestCalibrationPrompts(t *testing.T) {
	var requests []rollout.Request
	for _, g := range apart {
		requests = append(requests, rollout.Request{Prompt: []int32{int32(g)}, Group: g})
	}
	r := recipe.Rollout{Prompts: 4, Group: 4}
	r.KVScales.Prompts = 3
	if got := slices.Concat(engines.CalibrationPrompts(r, requests)...); !slices.Equal(got, []int32{8, 3, 5}) {
		t.Errorf("the first three prompts are %v", got)
	}
}
