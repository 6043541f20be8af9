package kernel

import (
	"sync"
	"sync/atomic"
)

// Job is work cut into numbered parts that may run in any order and at the
// same time. What a part computes must depend on its number alone, never on
// the worker or the moment: then no result depends on the number of workers.
type Job interface {
	// Part does part i.
	Part(i int)
}

// Team is a fixed set of workers. The goroutine that calls Run is one of them.
// One Run at a time.
type Team struct {
	workers int
	start   []chan struct{}
	done    sync.WaitGroup
	job     Job
	parts   int64
	next    atomic.Int64
	failed  atomic.Pointer[failure]
	closed  bool
}

// failure is a panic that a worker caught.
type failure struct{ value any }

// NewTeam starts workers-1 goroutines that wait for work; workers below 2 start
// none. Close ends them.
func NewTeam(workers int) *Team {
	t := &Team{workers: max(workers, 1)}
	for range t.workers - 1 {
		c := make(chan struct{}, 1)
		t.start = append(t.start, c)
		go t.serve(c)
	}
	return t
}

// Workers returns the number of workers, the caller of Run included.
func (t *Team) Workers() int { return t.workers }

func (t *Team) serve(c chan struct{}) {
	for range c {
		t.work()
		t.done.Done()
	}
}

// Run does parts 0..parts-1 of job and returns when all are done. It does not
// allocate. A panic in a part is raised again here after the others ended. A
// nil Team does the parts in order.
func (t *Team) Run(parts int, job Job) {
	if t == nil || t.workers == 1 || parts < 2 {
		for i := range parts {
			job.Part(i)
		}
		return
	}
	if t.closed {
		panic("kernel: Run on a closed Team")
	}
	t.job, t.parts = job, int64(parts)
	t.next.Store(0)
	helpers := min(t.workers, parts) - 1
	t.done.Add(helpers)
	for _, c := range t.start[:helpers] {
		c <- struct{}{}
	}
	t.work()
	t.done.Wait()
	t.job = nil
	if f := t.failed.Swap(nil); f != nil {
		panic(f.value)
	}
}

// work takes parts until none is left.
func (t *Team) work() {
	defer func() {
		if v := recover(); v != nil {
			t.failed.CompareAndSwap(nil, &failure{v})
		}
	}()
	for {
		i := t.next.Add(1) - 1
		if i >= t.parts {
			return
		}
		t.job.Part(int(i))
	}
}

// Close ends the workers. Run must not be called afterwards; Close may be.
func (t *Team) Close() {
	if t == nil || t.closed {
		return
	}
	t.closed = true
	for _, c := range t.start {
		close(c)
	}
}
