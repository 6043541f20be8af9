package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"driftlab/results/record"
	"driftlab/results/stats"

	"golang.org/x/sync/errgroup"
)

// Task is a cell to make: a training run, a replication of a claim. Tasks share nothing but the machine.
type Task struct {
	// Name is what progress and errors call it.
	Name string
	// Units is its share of the whole: the steps of a run, or one.
	Units int
	// Store keeps the cell under the key of Cell, and is asked for it first; nil keeps nothing.
	Store *Store
	Cell  record.Cell
	// Make makes the cell's outcome and its curve, each nil for none. What it makes must not depend on the cores.
	Make func(ctx context.Context, d *TaskContext) (outcome, curve any, err error)
	// Then is called with the cell that was made or found; nil for nothing.
	Then func(cell *record.Cell) error
}

// do finds the cell, or makes and keeps it.
func (t *Task) do(ctx context.Context, d *TaskContext) error {
	cell, err := t.Store.Cell(t.Cell.Key)
	if err != nil {
		return err
	}
	if cell != nil {
		d.Report(State{Done: t.Units, Kept: t.Units})
	} else {
		outcome, curve, err := t.Make(ctx, d)
		if err != nil {
			return err
		}
		cell = &t.Cell
		for _, part := range []struct {
			text  *json.RawMessage
			value any
		}{{&cell.Outcome, outcome}, {&cell.Curve, curve}} {
			if part.value == nil {
				continue
			}
			if *part.text, err = json.Marshal(part.value); err != nil {
				return err
			}
		}
		if err := t.Store.Add(cell); err != nil {
			return err
		}
	}
	if t.Then != nil {
		return t.Then(cell)
	}
	return nil
}

// Work is how tasks are worked off. While there are at least as many of them as
// cores, none has more than one: runs side by side do not wait, and the cores of one
// run wait for each other at every step. The last ones share what others left. The number of cores and
// the order in which tasks begin and end change nothing but the time.
type Work struct {
	// Cores is how many there are for all tasks together; 0 means one.
	Cores int
	// Progress is called as tasks advance and end, never from two goroutines at
	// once; nil for none.
	Progress func(Progress)
	// GoOn makes the other tasks where one fails, unless its folder cannot be written; the error is then FailedTasks.
	GoOn bool
}

// FailedTasks are those that could not be made. The others are there.
type FailedTasks []error

// Error is one line for each of the first few.
func (f FailedTasks) Error() string {
	const most = 3
	lines := stats.Map(f[:min(len(f), most)], error.Error)
	if more := len(f) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d runs more", more))
	}
	return strings.Join(lines, "; ")
}

// TaskContext is where a task is done: it says what the task may use and hears how far it is.
type TaskContext struct {
	pool *workerPool
	task int
	name string
}

// Cores is how many the task may use from now on: at least one, and more as other
// tasks end, never fewer than before.
func (d *TaskContext) Cores() int { return d.pool.share(d.task) }

// Report tells how far the task is.
func (d *TaskContext) Report(s State) { d.pool.advance(d, s, 0) }

// State is where a task stands.
type State struct {
	// Done of its units are done; Kept of them had been before it began.
	Done, Kept int
	// Note is what else there is to say.
	Note string
}

// Progress is where all tasks stand.
type Progress struct {
	// Done of Total units are done, over all tasks; Kept of them had been before.
	Done, Kept, Total int
	// Ended of Tasks have ended.
	Ended, Tasks int
	// Latest is the task that advanced last, and Note is its own.
	Latest, Note string
}

// Do makes the tasks. The first failure, or a cancelled context, stops the rest.
func (w Work) Do(ctx context.Context, tasks []Task) error {
	c := workerPool{cores: max(w.Cores, 1), left: len(tasks), progress: w.Progress, states: make([]State, len(tasks)), at: Progress{Tasks: len(tasks)}}
	for i := range tasks {
		c.at.Total += tasks[i].Units
	}
	group, ctx := errgroup.WithContext(ctx)
	parallel := Parallelism(c.cores)
	group.SetLimit(parallel)
	if parallel > c.cores {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(parallel))
	}
	var failed FailedTasks
	for i := range tasks {
		t := &tasks[i]
		d := &TaskContext{pool: &c, task: i, name: t.Name}
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.begin(i)
			if err := t.do(ctx, d); err != nil {
				err = fmt.Errorf("%s: %w", t.Name, err)
				if !w.GoOn || ctx.Err() != nil || errors.As(err, new(*record.FolderError)) {
					return err
				}
				c.mu.Lock()
				failed = append(failed, err)
				c.mu.Unlock()
			}
			c.end(d, t.Units)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return nil
}

// Parallelism is how many tasks are under way at once: one for each core, and two where the
// cores are several and all that the machine has. With a thread to spare no core idles
// while another thread waits for the disk, or to be moved to a core that is free: two
// cores idled a ninth of the time without.
func Parallelism(cores int) int {
	if all := runtime.NumCPU(); cores > 1 && cores == all && runtime.GOMAXPROCS(0) == all {
		return 2 * cores
	}
	return cores
}

// workerPool shares the cores among the tasks and adds up how far they are.
type workerPool struct {
	mu       sync.Mutex
	cores    int
	running  []int // tasks, in the order they began
	left     int   // tasks that have not ended
	progress func(Progress)
	states   []State // by task
	at       Progress
}

func (c *workerPool) begin(task int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = append(c.running, task)
}

// share is the task's part of the cores: all tasks that are left have equal ones, up
// to one core that those have which began first; none has less than one.
func (c *workerPool) share(task int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := slices.Index(c.running, task)
	return max((c.cores-before+c.left-1)/c.left, 1)
}

// advance takes a task's new state, and counts it if it has ended.
func (c *workerPool) advance(d *TaskContext, s State, ended int) {
	if c.progress == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at.Done += s.Done - c.states[d.task].Done
	c.at.Kept += s.Kept - c.states[d.task].Kept
	c.at.Ended += ended
	c.at.Latest, c.at.Note = d.name, s.Note
	c.states[d.task] = s
	c.progress(c.at)
}

// end counts a task as complete, also one that stopped early, and frees its cores.
func (c *workerPool) end(d *TaskContext, units int) {
	c.mu.Lock()
	c.running = slices.DeleteFunc(c.running, func(task int) bool { return task == d.task })
	c.left--
	s := c.states[d.task]
	c.mu.Unlock()
	s.Done = units
	c.advance(d, s, 1)
}
