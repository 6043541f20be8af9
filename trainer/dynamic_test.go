package trainer

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method/schedule"
	"driftlab/trainer/trainertest"
)

const refuseEqual = "rollout.dynamic_sampling={refuse: equal_reward}"

// Dynamic sampling trains no group of equal rewards, under any kind of schedule, and
// counts what it refused; nothing is lost or trained twice.
func TestDynamicSampling(t *testing.T) {
	for _, name := range []string{"sync", "{name: lag, k: 2}", "areal", "skyrl", "periodic", "dora", "verl_partial"} {
		t.Run(name, func(t *testing.T) {
			s := sessionOf(t, Options{}, "schedule="+name, refuseEqual, "rollout.group=2", "eval.every=0", "steps=6")
			refused, seen := 0.0, map[string]bool{}
			steps(t, s, 6, func(step int) {
				b := &s.batch
				refused += s.figure(t, "rollout/refused_groups")
				if b.Len() != 8 {
					t.Fatalf("%d responses", b.Len())
				}
				for i := 0; i < b.Len(); i += 2 {
					if b.Reward[i] == b.Reward[i+1] {
						t.Errorf("step %d: a group of equal rewards %v is trained", step, b.Reward[i])
					}
					from, to := b.Span(i)
					key := fmt.Sprint(b.PromptID[i], b.Token[from:to], b.LogpRoll[from:to])
					if seen[key] {
						t.Errorf("step %d: a response is trained twice", step)
					}
					seen[key] = true
				}
			})
			n := stageOf[*asynchronous](s).Core.Counts()
			if refused == 0 || float64(n.Dropped) < refused || n.Trained != 24 {
				t.Errorf("%v groups were refused, %d dropped, %d trained", refused, n.Dropped, n.Trained)
			}
		})
	}
}

// Where nothing is refused or drawn, dynamic sampling and replay are the synchronous
// run, to the bit; once its budget is used up, groups are taken as they are.
func TestNothingRefused(t *testing.T) {
	sync := tinyRun(t, "anchor=old")
	for _, set := range []string{"rollout.dynamic_sampling={refuse: solved}", "rollout.dynamic_sampling={refuse: equal, max_batches: 1}", "replay={draws: 0}"} {
		sameRun(t, set, sync, tinyRun(t, set, "anchor=old"))
	}
	// Random weights answer nothing right: every group is equal until the budget ends.
	s := sessionOf(t, Options{}, "rollout.dynamic_sampling={max_batches: 3}")
	steps(t, s, 2, func(step int) {
		if n := s.figure(t, "rollout/refused_groups"); n != 2*4 {
			t.Errorf("step %d: %v groups refused of a budget of 8", step, n)
		}
	})
}

// The groups that a synchronous run with refusals trains depend on no timing: any
// cluster and any system without staleness picks the same.
func TestRefusalsWithoutStaleness(t *testing.T) {
	sets := []string{refuseEqual, "rollout.group=2", "anchor=old", "eval.every=0", "steps=5"}
	want := sessionOf(t, Options{}, append(sets, "schedule=sync")...)
	steps(t, want, 5, func(int) {})
	for _, other := range [][]string{
		{"schedule=sync", "cluster={workers: 1}"}, {"schedule=sync", "rollout.slots=1"}, {"schedule=periodic"}, {"schedule=seer"},
		{"schedule={name: areal, eta: 0}"}, {"schedule=verl_on_policy"},
	} {
		got := sessionOf(t, Options{}, append(sets, other...)...)
		steps(t, got, 5, func(int) {})
		if !slices.Equal(got.Params().Theta, want.Params().Theta) {
			t.Errorf("%v: other weights", other)
		}
	}
}

// A run that refuses and replays goes on to the same bytes after any step.
func TestRefusalAndReplayResume(t *testing.T) {
	for _, name := range []string{"sync", "areal", "skyrl", "stream"} {
		goesOn(t, func(step int) int {
			if step > 0 && (step%2 == 0 || *exhaustive) {
				return 1
			}
			return 0
		}, "schedule="+name, "steps=5", "eval.every=0", "rollout.group=2", refuseEqual, "replay={draws: 2, capacity: 6, tau: 3}")
	}
}

// What is replayed is what was trained, with its stored log-probs; its groups are
// weighed as they were drawn, and the loss divides by mu.
func TestReplayedBatch(t *testing.T) {
	for _, name := range []string{"sync", "areal"} {
		s := sessionOf(t, Options{}, "schedule="+name, "replay={draws: 3, capacity: 8, tau: 2, beta: 0.5}", "rollout.numerics=bf16", "eval.every=0", "steps=6", "rollout.max_tokens=24")
		trained := map[string]bool{}
		replays := 0
		steps(t, s, 6, func(step int) {
			b := &s.batch
			last := stageOf[*asynchronous](s).Last
			if want := map[bool]int{true: 0, false: 3}[step == 0]; last.Replayed != want || b.Len() != 4*(4+want) {
				t.Fatalf("%s, step %d: %d replays in %d responses", name, step, last.Replayed, b.Len())
			}
			if !slices.Equal(b.Anchor, b.LogpRoll) {
				t.Errorf("%s, step %d: the loss is not anchored on mu", name, step)
			}
			response := func(i int) string {
				from, to := b.Span(i)
				return fmt.Sprint(b.PromptID[i], b.Token[from:to], b.LogpRoll[from:to], b.Version[from:to])
			}
			for i := range b.Len() {
				again := i >= 16
				if trained[response(i)] != again {
					t.Errorf("%s, step %d: response %d was trained before: %v", name, step, i, !again)
				}
				if again {
					replays++
				}
				if b.Group[i] != i/4 {
					t.Errorf("response %d is in group %d", i, b.Group[i])
				}
			}
			for i := range 16 {
				trained[response(i)] = true
			}
			if step == 0 {
				return
			}
			if share := s.figure(t, "replay/share"); share < 0.2 || share > 0.7 {
				t.Errorf("%s, step %d: share %v", name, step, share)
			}
			if ess, age := s.figure(t, "replay/ess"), s.figure(t, "replay/age"); ess <= 0 || ess > 1+1e-12 || age < 1 {
				t.Errorf("%s, step %d: ESS %v at age %v", name, step, ess, age)
			}
			for i, w := range last.Weights {
				if i < 16 && w != 1 || w <= 0 || w > 1 {
					t.Errorf("%s, step %d: response %d weighs %v", name, step, i, w)
				}
			}
			if most := slices.Max(last.Weights[16:]); math.Abs(most-1) > 1e-9 {
				t.Errorf("%s, step %d: the greatest weight is %v", name, step, most)
			}
		})
		if replays == 0 || s.figure(t, "replay/reuse_max") < 2 {
			t.Errorf("%s: %d replays", name, replays)
		}
	}
}

// Every system refuses and replays.
func TestEverySystemRefuses(t *testing.T) {
	for _, e := range schedule.Systems {
		if err := trainertest.Recipe(t, "schedule="+e.Name, refuseEqual, "replay={}").Validate(); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
}
