package study

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"driftlab/precision/must"
)

// squares are jobs of two units each; later ones end first where workers allow.
func squares(n int, into []int) []Task {
	var jobs []Task
	var wait []chan struct{}
	for range n + 1 {
		wait = append(wait, make(chan struct{}))
	}
	close(wait[n])
	for i := range n {
		jobs = append(jobs, Task{Name: fmt.Sprint("job ", i), Units: 2, Make: func(_ context.Context, d *TaskContext) (any, any, error) {
			d.Report(State{Done: 1, Note: "half"})
			<-wait[i+1]
			close(wait[i])
			into[i] = i * i
			return nil, nil, nil
		}})
	}
	return jobs
}

// TestProgress: units add up over jobs that end early, late or had been done.
func TestProgress(t *testing.T) {
	var list []Progress
	jobs := []Task{
		{Name: "early", Units: 10, Make: func(_ context.Context, d *TaskContext) (any, any, error) {
			d.Report(State{Done: 4, Kept: 3, Note: "resumed"})
			return nil, nil, nil
		}},
		{Name: "silent", Units: 1, Make: func(context.Context, *TaskContext) (any, any, error) { return nil, nil, nil }},
		{Name: "kept", Units: 5, Make: func(_ context.Context, d *TaskContext) (any, any, error) {
			d.Report(State{Done: 5, Kept: 5})
			return nil, nil, nil
		}},
	}
	must.Do(t, (Work{Progress: func(p Progress) { list = append(list, p) }}).Do(context.Background(), jobs))
	want := []Progress{
		{Done: 4, Kept: 3, Total: 16, Ended: 0, Tasks: 3, Latest: "early", Note: "resumed"},
		{Done: 10, Kept: 3, Total: 16, Ended: 1, Tasks: 3, Latest: "early", Note: "resumed"},
		{Done: 11, Kept: 3, Total: 16, Ended: 2, Tasks: 3, Latest: "silent"},
		{Done: 16, Kept: 8, Total: 16, Ended: 2, Tasks: 3, Latest: "kept"},
		{Done: 16, Kept: 8, Total: 16, Ended: 3, Tasks: 3, Latest: "kept"},
	}
	if !slices.Equal(list, want) {
		t.Errorf("progress\n%+v\nwant\n%+v", list, want)
	}
}

// TestParallelism: as many jobs at a time as Parallelism says and no more; while they are, Go has a
// thread for each.
func TestParallelism(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	for _, cores := range []int{1, 3, procs} {
		parallel := Parallelism(cores)
		var mu sync.Mutex
		running, most, threads := 0, 0, 0
		together := make(chan struct{})
		var jobs []Task
		for range 2 * parallel {
			jobs = append(jobs, Task{Make: func(context.Context, *TaskContext) (any, any, error) {
				mu.Lock()
				running++
				if most = max(most, running); running == parallel && threads == 0 {
					threads = runtime.GOMAXPROCS(0)
					close(together)
				}
				mu.Unlock()
				<-together
				mu.Lock()
				running--
				mu.Unlock()
				return nil, nil, nil
			}})
		}
		if err := (Work{Cores: cores}).Do(context.Background(), jobs); err != nil || most != parallel {
			t.Errorf("%d cores: %d jobs at a time (%v), want %d", cores, most, err, parallel)
		}
		if want := max(procs, parallel); parallel > cores && threads != want || runtime.GOMAXPROCS(0) != procs {
			t.Errorf("%d cores of %d: %d threads for %d jobs, %d afterwards", cores, procs, threads, parallel, runtime.GOMAXPROCS(0))
		}
	}
	if Parallelism(1) != 1 || Parallelism(2*runtime.NumCPU()) != 2*runtime.NumCPU() {
		t.Error("jobs take turns where one core is asked for, and no more than are asked for where there are fewer cores")
	}
}

// TestFirstFailure: it is returned by the job's name, stops what waits.
func TestFirstFailure(t *testing.T) {
	broken := errors.New("broken")
	var began []int
	var jobs []Task
	for i := range 4 {
		jobs = append(jobs, Task{Name: fmt.Sprint("job ", i), Make: func(context.Context, *TaskContext) (any, any, error) {
			began = append(began, i)
			if i == 1 {
				return nil, nil, broken
			}
			return nil, nil, nil
		}})
	}
	err := Work{}.Do(context.Background(), jobs)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "job 1: ") || !slices.Equal(began, []int{0, 1}) {
		t.Errorf("error %v, began %v", err, began)
	}
}

// TestCancelled: no job begins after the context has ended.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := 0
	q := Work{Progress: func(p Progress) {
		if ended = p.Ended; ended == 2 {
			cancel()
		}
	}}
	jobs := squares(1, make([]int, 1))
	for range 4 {
		jobs = append(jobs, squares(1, make([]int, 1))...)
	}
	if err := q.Do(ctx, jobs); !errors.Is(err, context.Canceled) || ended != 2 {
		t.Errorf("%v after %d jobs, want cancelled after 2", err, ended)
	}
}

// TestShares: a job has one core while as many are left as there are cores; the
// last ones have what the others left, and all cores are in use.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		cores, parallel, jobs int
		want                  [][]int // of those that run, after none ended, one, two, ...; the first to begin ends first
	}{
		{2, 2, 3, [][]int{{1, 1}, {1, 1}, {2}}},
		{8, 8, 3, [][]int{{3, 3, 2}, {4, 4}, {8}}},
		{5, 5, 4, [][]int{{2, 1, 1, 1}, {2, 2, 1}, {3, 2}, {5}}},
		{1, 1, 2, [][]int{{1}, {1}}},
		{2, 4, 5, [][]int{{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1}, {1, 1}, {2}}},
	} {
		q := workerPool{cores: c.cores, left: c.jobs, states: make([]State, c.jobs)}
		begun := 0
		for ended, want := range c.want {
			for ; begun < c.jobs && begun-ended < c.parallel; begun++ {
				q.begin(begun)
			}
			var got []int
			for job := ended; job < begun; job++ {
				got = append(got, q.share(job))
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d cores, %d jobs, %d ended: shares %v, want %v", c.cores, c.jobs, ended, got, want)
			}
			q.end(&TaskContext{task: ended}, 0)
		}
	}
}
