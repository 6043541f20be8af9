package kernel

import (
	"sync/atomic"
	"testing"

	"driftlab/precision/must"
)

// countJob counts how often each part ran.
type countJob struct {
	seen []atomic.Int32
	fail int
}

func (j *countJob) Part(i int) {
	if i == j.fail {
		panic("part failed")
	}
	j.seen[i].Add(1)
}

func TestTeamRunsEveryPartOnce(t *testing.T) {
	for _, workers := range []int{0, 1, 2, 5} {
		team := NewTeam(workers)
		for _, parts := range []int{0, 1, 2, 3, 17} {
			for range 50 {
				job := &countJob{seen: make([]atomic.Int32, parts), fail: -1}
				team.Run(parts, job)
				for i := range job.seen {
					if n := job.seen[i].Load(); n != 1 {
						t.Fatalf("%d workers, %d parts: part %d ran %d times", workers, parts, i, n)
					}
				}
			}
		}
		team.Close()
		team.Close()
	}
}

func TestTeamDoesNotAllocate(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	job := &countJob{seen: make([]atomic.Int32, 4), fail: -1}
	if n := testing.AllocsPerRun(100, func() { team.Run(4, job) }); n != 0 {
		t.Errorf("Run allocates %g times", n)
	}
}

func TestTeamPassesPanicsOn(t *testing.T) {
	team := NewTeam(3)
	defer team.Close()
	caught := must.Panic(t, "a part", func() { team.Run(8, &countJob{seen: make([]atomic.Int32, 8), fail: 5}) })
	if caught != "part failed" {
		t.Errorf("recovered %v", caught)
	}
	job := &countJob{seen: make([]atomic.Int32, 8), fail: -1}
	team.Run(8, job) // and works afterwards
	if job.seen[7].Load() != 1 {
		t.Error("the team does not run after a panic")
	}
}

func TestNilTeamRunsInOrder(t *testing.T) {
	job := &countJob{seen: make([]atomic.Int32, 3), fail: -1}
	(*Team)(nil).Run(3, job)
	if job.seen[2].Load() != 1 {
		t.Error("a nil team did not run the parts")
	}
}
