package trainer

import (
	"bytes"
	"flag"
	"reflect"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/trainertest"
)

var exhaustive = flag.Bool("exhaustive", false, "every system on a clock, as in nightly tests, in place of one of each kind")

// onClock are the systems of the registry that a recipe runs on a clock; unless the test is
// exhaustive a few of them, with each way to continue.
func onClock(t *testing.T) (names []string) {
	t.Helper()
	for _, e := range schedule.Systems {
		if trainertest.Recipe(t, "schedule="+e.Name).OnClock() {
			names = append(names, e.Name)
		}
	}
	if !*exhaustive {
		return []string{"areal", "skyrl", "dora", "copris", "slime_fully_async", "stream"}
	}
	return names
}

// A run that is killed at every event of the clock (at one in three unless the test is exhaustive), and taken up each time in new
// engines from what a session keeps, makes the figures and ends with the bytes of
// one that is not: with responses that are interrupted, pinned, evicted, moved or
// begun again, and with parts of a batch that the learner has.
func TestKillAtEveryEvent(t *testing.T) {
	const steps = 3
	for i, name := range onClock(t) {
		t.Run(name, func(t *testing.T) {
			sets := []string{"schedule=" + name, "steps=3", "eval.every=0", "rollout.prompts=3", "rollout.group=2", "rollout.max_tokens=10",
				"rollout.slots=2", "cluster.workers=2", "learner.minibatches=2"}
			if i%3 == 0 { // with a tool that takes its time
				sets = append(sets, "task={name: lookup, difficulty: [1, 2], calls: [0, 1], max_calls: 2, output: 2}", "cluster.costs.tool_call=30000")
			}
			want, killed := sessionOf(t, Options{}, sets...), sessionOf(t, Options{}, sets...)
			kills, within := 0, 0
			kill := func() {
				if err := killed.spread(1); err != nil {
					t.Fatalf("kill %d: %v", kills, err)
				}
				kills++
			}
			var figures []batch.Metric
			for step := range steps {
				must(t, want.Step(step))
				figures = append(figures[:0], want.metrics...)
				for {
					if *exhaustive || within%3 == i%3 {
						kill()
					}
					at := stageOf[*asynchronous](killed)
					if c := at.Core.Next(); c.Kind == schedule.Train && c.Update {
						break
					}
					if _, err := at.Advance(&killed.batch.Sampled, killed.Params(), killed.learner.Updates()); err != nil {
						t.Fatal(err)
					}
					within++
				}
				must(t, killed.Step(step))
				if !slices.Equal(killed.metrics, figures) || !bytes.Equal(killed.batch.Sampled.AppendState(nil), want.batch.Sampled.AppendState(nil)) {
					t.Fatalf("step %d has other responses, or other figures of them", step)
				}
			}
			_, _, state := want.Snapshot()
			_, _, got := killed.Snapshot()
			if !slices.Equal(killed.Params().Theta, want.Params().Theta) || !reflect.DeepEqual(got, state) {
				t.Error("it ends otherwise")
			}
			if within < 10*steps {
				t.Errorf("%d events in %d steps", within, steps)
			}
		})
	}
}
