// Package queue works off jobs that share nothing but the machine: training runs,
// seeds of a claim, points of a grid. Results come back by place, so the number
// of cores and the order in which jobs begin and end change nothing but the time.
//
// What it is not: it keeps nothing. A job that should survive an interruption
// keeps its own result and finds it there the next time.
package queue

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Queue is how jobs are worked off. While there are at least as many of them as
// cores, none has more than one: runs side by side wait for nobody, and the cores of one
// run wait for each other at every step. The last ones share what others left.
type Queue[T any] struct {
	// Cores is how many there are for all jobs together; 0 means one.
	Cores int
	// Progress is called as jobs advance and end, never from two goroutines at
	// once; nil for none.
	Progress func(Progress)
}

// Job is one piece of work.
type Job[T any] struct {
	// Name is what progress and errors call it.
	Name string
	// Units is its share of the whole: the steps of a run, or one.
	Units int
	// Cost is about how long it takes, in any measure that all jobs share; 0 where
	// it is not known. The longest begin first, so that none is begun last and
	// waited for alone; jobs of one cost begin in order.
	Cost float64
	// Do does the job.
	Do func(ctx context.Context, d *JobContext) (T, error)
}

// JobContext is where a job is done: it says what the job may use and hears how far it is.
type JobContext struct {
	pool *workerPool
	job  int
	name string
}

// Cores is how many the job may use from now on: at least one, and more as other
// jobs end, never fewer than before. What a job computes must not depend on it.
func (d *JobContext) Cores() int { return d.pool.share(d.job) }

// Report tells how far the job is.
func (d *JobContext) Report(s State) { d.pool.advance(d, s, 0) }

// State is where a job stands.
type State struct {
	// Done of its units are done; Kept of them had been before it began.
	Done, Kept int
	// Note is what else there is to say.
	Note string
}

// Progress is where a queue stands.
type Progress struct {
	// Done of Total units are done, over all jobs; Kept of them had been before.
	Done, Kept, Total int
	// Ended of Jobs have ended.
	Ended, Jobs int
	// Latest is the job that advanced last, and Note is its own.
	Latest, Note string
}

// Run does the jobs and returns their results in the order of the list. The first
// failure, or a cancelled context, stops the rest; the results of those that ended
// are returned with it.
func (q Queue[T]) Run(ctx context.Context, jobs []Job[T]) ([]T, error) {
	out := make([]T, len(jobs))
	c := workerPool{cores: max(q.Cores, 1), left: len(jobs), progress: q.Progress, states: make([]State, len(jobs)), at: Progress{Jobs: len(jobs)}}
	order := make([]int, len(jobs))
	for i, j := range jobs {
		order[i] = i
		c.at.Total += j.Units
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(jobs[b].Cost, jobs[a].Cost) })
	group, ctx := errgroup.WithContext(ctx)
	parallel := Parallelism(c.cores)
	group.SetLimit(parallel)
	if parallel > c.cores {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(parallel))
	}
	for _, i := range order {
		j := &jobs[i]
		d := &JobContext{pool: &c, job: i, name: j.Name}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.begin(i)
			v, err := j.Do(ctx, d)
			if err != nil {
				return fmt.Errorf("%s: %w", j.Name, err)
			}
			out[i] = v
			c.end(d, j.Units)
			return nil
		})
	}
	return out, group.Wait()
}

// Parallelism is how many jobs are under way at once: one for each core, and two where the
// cores are several and all that the machine has. With a thread to spare no core idles
// while another thread waits for the disk, or to be moved to a core that is free: two
// cores idled a ninth of the time without.
func Parallelism(cores int) int {
	if all := runtime.NumCPU(); cores > 1 && cores == all && runtime.GOMAXPROCS(0) == all {
		return 2 * cores
	}
	return cores
}

// workerPool shares the cores among the jobs and adds up how far they are.
type workerPool struct {
	mu       sync.Mutex
	cores    int
	running  []int // jobs, in the order they began
	left     int   // jobs that have not ended
	progress func(Progress)
	states   []State // by job
	at       Progress
}

func (c *workerPool) begin(job int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = append(c.running, job)
}

// share is the job's part of the cores: all jobs that are left have equal ones, up
// to one core that those have which began first; none has less than one.
func (c *workerPool) share(job int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := slices.Index(c.running, job)
	return max((c.cores-before+c.left-1)/c.left, 1)
}

// advance takes a job's new state, and counts it if it has ended.
func (c *workerPool) advance(d *JobContext, s State, ended int) {
	if c.progress == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at.Done += s.Done - c.states[d.job].Done
	c.at.Kept += s.Kept - c.states[d.job].Kept
	c.at.Ended += ended
	c.at.Latest, c.at.Note = d.name, s.Note
	c.states[d.job] = s
	c.progress(c.at)
}

// end counts a job as complete, also one that stopped early, and frees its cores.
func (c *workerPool) end(d *JobContext, units int) {
	c.mu.Lock()
	c.running = slices.DeleteFunc(c.running, func(job int) bool { return job == d.job })
	c.left--
	s := c.states[d.job]
	c.mu.Unlock()
	s.Done = units
	c.advance(d, s, 1)
}
