package queue

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// squares are jobs of two units each; later ones end first where workers allow.
func squares(n int) []Job[int] {
	var jobs []Job[int]
	var wait []chan struct{}
	for range n + 1 {
		wait = append(wait, make(chan struct{}))
	}
	close(wait[n])
	for i := range n {
		jobs = append(jobs, Job[int]{Name: fmt.Sprint("job ", i), Units: 2, Do: func(_ context.Context, d *JobContext) (int, error) {
			d.Report(State{Done: 1, Note: "half"})
			<-wait[i+1]
			close(wait[i])
			return i * i, nil
		}})
	}
	return jobs
}

// TestResultsByPlace: the last job ends first, and results still stand in order.
func TestResultsByPlace(t *testing.T) {
	got, err := Queue[int]{Cores: 5}.Run(context.Background(), squares(5))
	if want := []int{0, 1, 4, 9, 16}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
}

// TestProgress: units add up over jobs that end early, late or had been done.
func TestProgress(t *testing.T) {
	var list []Progress
	jobs := []Job[string]{
		{Name: "early", Units: 10, Do: func(_ context.Context, d *JobContext) (string, error) {
			d.Report(State{Done: 4, Kept: 3, Note: "resumed"})
			return "", nil
		}},
		{Name: "silent", Units: 1, Do: func(context.Context, *JobContext) (string, error) { return "", nil }},
		{Name: "kept", Units: 5, Do: func(_ context.Context, d *JobContext) (string, error) {
			d.Report(State{Done: 5, Kept: 5})
			return "", nil
		}},
	}
	if _, err := (Queue[string]{Progress: func(p Progress) { list = append(list, p) }}).Run(context.Background(), jobs); err != nil {
		t.Fatal(err)
	}
	want := []Progress{
		{Done: 4, Kept: 3, Total: 16, Ended: 0, Jobs: 3, Latest: "early", Note: "resumed"},
		{Done: 10, Kept: 3, Total: 16, Ended: 1, Jobs: 3, Latest: "early", Note: "resumed"},
		{Done: 11, Kept: 3, Total: 16, Ended: 2, Jobs: 3, Latest: "silent"},
		{Done: 16, Kept: 8, Total: 16, Ended: 2, Jobs: 3, Latest: "kept"},
		{Done: 16, Kept: 8, Total: 16, Ended: 3, Jobs: 3, Latest: "kept"},
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
		var jobs []Job[int]
		for range 2 * parallel {
			jobs = append(jobs, Job[int]{Do: func(context.Context, *JobContext) (int, error) {
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
				return 0, nil
			}})
		}
		if _, err := (Queue[int]{Cores: cores}).Run(context.Background(), jobs); err != nil || most != parallel {
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

// TestFirstFailure: it is returned by the job's name, stops what waits, and
// leaves what had ended.
func TestFirstFailure(t *testing.T) {
	broken := errors.New("broken")
	var began []int
	var jobs []Job[int]
	for i := range 4 {
		jobs = append(jobs, Job[int]{Name: fmt.Sprint("job ", i), Do: func(context.Context, *JobContext) (int, error) {
			began = append(began, i)
			if i == 1 {
				return 0, broken
			}
			return i + 10, nil
		}})
	}
	got, err := Queue[int]{}.Run(context.Background(), jobs)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "job 1: ") || got[0] != 10 || !slices.Equal(began, []int{0, 1}) {
		t.Errorf("results %v, error %v, began %v", got, err, began)
	}
}

// TestCancelled: no job begins after the context has ended.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := 0
	q := Queue[int]{Progress: func(p Progress) {
		if ended = p.Ended; ended == 2 {
			cancel()
		}
	}}
	jobs := squares(1)
	for range 4 {
		jobs = append(jobs, squares(1)...)
	}
	if _, err := q.Run(ctx, jobs); !errors.Is(err, context.Canceled) || ended != 2 {
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
			q.end(&JobContext{job: ended}, 0)
		}
	}
}

// TestLongestFirst: jobs begin by cost, equal ones in order, and results stay in
// their places.
func TestLongestFirst(t *testing.T) {
	var began []int
	var jobs []Job[int]
	for i, cost := range []float64{1, 0, 3, 1, 3} {
		jobs = append(jobs, Job[int]{Cost: cost, Do: func(context.Context, *JobContext) (int, error) {
			began = append(began, i)
			return i, nil
		}})
	}
	got, err := Queue[int]{}.Run(context.Background(), jobs)
	if want := []int{2, 4, 0, 3, 1}; err != nil || !slices.Equal(began, want) || !slices.Equal(got, []int{0, 1, 2, 3, 4}) {
		t.Errorf("began %v (%v) with results %v, want %v and results in order", began, err, got, want)
	}
}
