// Package queue works off jobs that share nothing: training runs, seeds of a
// claim, points of a grid. Results come back by place, so the number of workers
// and the order in which jobs end change nothing but the time.
//
// What it is not: it keeps nothing. A job that should survive an interruption
// keeps its own result and finds it there the next time.
package queue

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Queue is how jobs are worked off.
type Queue[T any] struct {
	// Workers is the number of jobs at a time; 0 means one.
	Workers int
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
	// Do does the job, and may report how far it is.
	Do func(ctx context.Context, report func(State)) (T, error)
}

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

// Run does the jobs, begun in order, and returns their results in that order.
// The first failure, or a cancelled context, stops the rest; the results of
// those that ended are returned beside it.
func (q Queue[T]) Run(ctx context.Context, jobs []Job[T]) ([]T, error) {
	out := make([]T, len(jobs))
	w := watch{progress: q.Progress, states: make([]State, len(jobs)), at: Progress{Jobs: len(jobs)}}
	for _, j := range jobs {
		w.at.Total += j.Units
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(q.Workers, 1))
	for i, j := range jobs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			v, err := j.Do(ctx, func(s State) { w.advance(i, j.Name, s, 0) })
			if err != nil {
				return fmt.Errorf("%s: %w", j.Name, err)
			}
			out[i] = v
			w.end(i, j.Name, j.Units)
			return nil
		})
	}
	return out, group.Wait()
}

// watch adds up jobs that advance side by side.
type watch struct {
	mu       sync.Mutex
	progress func(Progress)
	states   []State // by job
	at       Progress
}

// advance takes a job's new state, and counts it if it has ended.
func (w *watch) advance(job int, name string, s State, ended int) {
	if w.progress == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at.Done += s.Done - w.states[job].Done
	w.at.Kept += s.Kept - w.states[job].Kept
	w.at.Ended += ended
	w.at.Latest, w.at.Note = name, s.Note
	w.states[job] = s
	w.progress(w.at)
}

// end counts a job as complete, also one that stopped early.
func (w *watch) end(job int, name string, units int) {
	s := w.states[job]
	s.Done = units
	w.advance(job, name, s, 1)
}
