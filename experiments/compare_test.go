package experiments

import (
	"context"
	"slices"
	"testing"

	"driftlab/experiments/study"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// TestCompareTakenUp: runs come back by place with one worker and with three, and what a
// folder has counts as kept, not as made.
func TestCompareTakenUp(t *testing.T) {
	r, err := recipe.Load("headline", "steps=2", "eval.every=0", "rollout.prompts=2")
	if err != nil {
		t.Fatal(err)
	}
	longer := r
	longer.Steps = 3
	dir := t.TempDir()
	compare := func(o Options) (records []*record.Record, last study.Progress) {
		o.Progress = func(p study.Progress) { last = p }
		records, err := Compare(context.Background(), []recipe.Recipe{longer, r}, []uint64{1, 2}, o)
		if err != nil {
			t.Fatal(err)
		}
		return records, last
	}
	rewards := func(records []*record.Record) (all []float64) {
		for _, r := range records {
			all = append(all, r.Column("gap/k3").Updated()...)
		}
		return all
	}
	made, last := compare(Options{Dir: dir, Workers: 3})
	if last.Done != 10 || last.Total != 10 || last.Kept != 0 || last.Ended != 4 {
		t.Errorf("made: %+v", last)
	}
	again, last := compare(Options{Dir: dir, Workers: 3})
	if last.Done != 10 || last.Kept != 10 || last.Ended != 4 {
		t.Errorf("taken up: %+v", last)
	}
	fresh, _ := compare(Options{})
	if want := rewards(fresh); len(want) != 10 || !slices.Equal(rewards(made), want) || !slices.Equal(rewards(again), want) {
		t.Errorf("%v, then %v, with one worker in memory %v", rewards(made), rewards(again), want)
	}
}
