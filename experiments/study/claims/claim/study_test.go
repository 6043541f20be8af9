package claim

import (
	"context"
	"errors"
	"math"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
)

// A claim of a study takes the runs of its replication's seed from the finished folder: means over updates, and evaluations at all of
// their steps, NaN where a length had no response.
func TestStudyRuns(t *testing.T) {
	dir := t.TempDir()
	folder := StudyFolder(dir, "lengths")
	s := &studyRuns{Name: "lengths", First: 41000, Record: []recorded{
		{Figure: "$arm, length", Of: "values of response_length/mean", Blocks: []int{2, 2, 2}},
		{Figure: "$arm, long", Of: "values of val/learner/pass_rate_of_length/8", Only: "a, none"},
	}}
	measure := func(seed uint64) (*Observation, error) {
		e, o := &Env{Seed: seed, Cache: NewCache(dir)}, new(Observation)
		return o, e.Do(context.Background(), func() { s.Measure(e, o) })
	}
	var fault *record.FolderError
	if _, err := measure(1); !errors.As(err, &fault) {
		t.Errorf("without the study: %v", err)
	}
	cells := record.NewCells(folder, must.Get(record.ReadSums(folder))(t))
	for i, arm := range []string{"a, none", "b, none"} {
		curve := `[{"name":"response_length/mean","value":[1,3,5,9]},{"name":"val/learner/pass_rate","step":[0,2,4],"value":[0,0.5,1]},{"name":"val/learner/pass_rate_of_length/8","step":[0,4],"value":[0.25,0.75]}]`
		if err := cells.Add(record.Cell{Key: arm, Arm: arm, Seed: 41001 + uint64(i), Outcome: []byte(`{}`), Curve: []byte(curve)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := cells.Seal(cells.Keys()); err != nil {
		t.Fatal(err)
	}
	o, err := measure(2)
	if err != nil {
		t.Fatal(err)
	}
	length, long := o.List("a, none, length"), o.List("a, none, long")
	if len(length) != 2 || length[0] != 2 || length[1] != 7 || o.Has("b, none, length") {
		t.Errorf("lengths %v of %v", length, o.Names())
	}
	if len(long) != 3 || long[0] != 0.25 || !math.IsNaN(long[1]) || long[2] != 0.75 {
		t.Errorf("pass rates of a length: %v", long)
	}
	if _, err := measure(9); !errors.As(err, &fault) {
		t.Errorf("without a run: %v", err)
	}
}
