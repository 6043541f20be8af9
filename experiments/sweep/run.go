package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"driftlab/experiments/queue"
	runner "driftlab/experiments/run"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// Options are the choices that change no figure.
type Options struct {
	// Dir is the sweep's folder. What is finished there is not run again.
	Dir string
	// Shard is the part of the runs to make; the zero value is all of them.
	Shard Shard
	// Only, unless it is empty, runs the cells alone that meet one of the conditions.
	Only []Condition
	// Keep leaves the whole folder of every run in runsFolder.
	Keep bool
	// Workers is the number of cores, which the runs share; 0 means one.
	Workers int
	// Progress is called as runs advance, never from two goroutines at once. Its
	// units are steps.
	Progress func(queue.Progress)
	// Now is a clock for timesFile; nil keeps no times.
	Now func() time.Time
}

// FailedRuns are those that could not be made, for other reasons than a value that
// is not finite, which is an outcome. The others are there.
type FailedRuns []error

// Error is one line for each of the first few.
func (f FailedRuns) Error() string {
	const most = 3
	var lines []string
	for _, err := range f[:min(len(f), most)] {
		lines = append(lines, err.Error())
	}
	if more := len(f) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d runs more", more))
	}
	return strings.Join(lines, "; ")
}

// Run makes the runs of a grid that are not there yet, several at a time, those of
// the first seed first. An interruption loses nothing: what is under way goes on from
// its last snapshot.
func Run(ctx context.Context, g *Grid, o Options) error {
	lock, err := record.LockFolder(o.Dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	for _, folder := range []string{stepsFolder, runningFolder} {
		path := filepath.Join(o.Dir, folder)
		if err := os.MkdirAll(path, 0o777); err != nil {
			return storage(path, err)
		}
	}
	record.Sweep(o.Dir, stepsFolder)
	cells, done, err := readCells(o.Dir)
	if err != nil {
		return err
	}
	defer cells.Close()
	w := &work{options: o, cells: cells}
	if err := w.tidy(); err != nil {
		return err
	}
	x := g.Index()
	if old, err := ReadIndex(o.Dir); err == nil && len(o.Only) > 0 {
		x.keep(old, o.Only)
	}
	if err := x.write(o.Dir); err != nil {
		return err
	}
	var jobs []queue.Job[struct{}]
	for _, c := range g.left(done, o) {
		jobs = append(jobs, w.job(c))
	}
	if _, err := (queue.Queue[struct{}]{Cores: o.Workers, Progress: o.Progress}).Run(ctx, jobs); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(o.Dir, runningFolder)) // unless something is left in it
	if len(w.failed) > 0 {
		return w.failed
	}
	return nil
}

// Left are the cells that Run would run, in that order.
func (g *Grid) Left(o Options) ([]*Cell, error) {
	_, done, err := readCells(o.Dir)
	if err != nil {
		return nil, err
	}
	return g.left(done, o), nil
}

// left are the cells to run, one for each run that is asked for and not there, in
// the order in which they begin.
func (g *Grid) left(done map[string]Outcome, o Options) []*Cell {
	var cells []*Cell
	for i, c := range g.Runs() {
		asked := len(o.Only) == 0 || slices.ContainsFunc(g.cellsOf(c.Run), func(c *Cell) bool {
			return meetsOne(o.Only, c.Values)
		})
		if _, there := done[c.Run]; asked && o.Shard.has(i) && !there {
			cells = append(cells, c)
		}
	}
	// All of a seed before the next, so that a part of a sweep is a sweep; among them
	// the longest first, so that none is begun last and waited for alone.
	slices.SortStableFunc(cells, func(a, b *Cell) int {
		return cmp.Or(slices.Index(g.Plan.Seeds, a.Seed)-slices.Index(g.Plan.Seeds, b.Seed), cmp.Compare(b.Recipe.Work(), a.Recipe.Work()))
	})
	return cells
}

// Runs are the first cells of all runs.
func (g *Grid) Runs() []*Cell {
	var cells []*Cell
	seen := map[string]bool{}
	for i := range g.Cells {
		if c := &g.Cells[i]; !seen[c.Run] {
			seen[c.Run] = true
			cells = append(cells, c)
		}
	}
	return cells
}

// cellsOf are the cells of a run.
func (g *Grid) cellsOf(run string) []*Cell {
	if g.byRun == nil {
		g.byRun = map[string][]*Cell{}
		for i := range g.Cells {
			c := &g.Cells[i]
			g.byRun[c.Run] = append(g.byRun[c.Run], c)
		}
	}
	return g.byRun[run]
}

// work makes the runs of a sweep.
type work struct {
	options Options
	mu      sync.Mutex
	cells   *record.Cells
	failed  FailedRuns
}

// tidy removes what is under way of runs that ended: a process was killed between.
func (w *work) tidy() error {
	dir := filepath.Join(w.options.Dir, runningFolder)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return storage(dir, err)
	}
	for _, e := range entries {
		if w.cells.Get(e.Name()) != nil {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return storage(dir, err)
			}
		}
	}
	return nil
}

// job is a run as a job.
func (w *work) job(c *Cell) queue.Job[struct{}] {
	do := func(ctx context.Context, d *queue.JobContext) (struct{}, error) {
		err := w.run(ctx, d, c)
		var folder *record.FolderError
		if err == nil || ctx.Err() != nil || errors.As(err, &folder) {
			return struct{}{}, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failed = append(w.failed, fmt.Errorf("%s: %w", c.label(), err))
		return struct{}{}, nil
	}
	return queue.Job[struct{}]{Name: c.label(), Units: c.Recipe.Steps, Do: do}
}

// run makes a run, or the rest of it, and puts down what it came to.
func (w *work) run(ctx context.Context, d *queue.JobContext, c *Cell) error {
	folder := runningFolder
	if w.options.Keep {
		folder = runsFolder
	}
	dir := filepath.Join(w.options.Dir, folder, c.Run)
	began := w.now()
	r, made, err := Train(ctx, d, c.Recipe, dir)
	if err != nil {
		return err
	}
	took := w.now().Sub(began)
	if err := keepSteps(w.options.Dir, c.Run, r); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.cells.Add(c.Run, outcomeOf(c, r)); err != nil {
		return err
	}
	if made == r.Steps { // a resumed run says nothing of a whole run
		w.keepTime(c, took)
	}
	if w.options.Keep {
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return storage(dir, err)
	}
	return nil
}

func (w *work) now() time.Time {
	if w.options.Now == nil {
		return time.Time{}
	}
	return w.options.Now()
}

// Train makes the run of a recipe as a job of a queue, or what a folder has not of
// it yet; without one it is kept in memory. A run that a value which is not finite
// has ended is no error. made is how many of the steps it took.
func Train(ctx context.Context, d *queue.JobContext, r recipe.Recipe, dir string) (run *record.Record, made int, err error) {
	at := queue.State{Kept: -1}
	result, err := runner.Run(ctx, r, runner.Options{Dir: dir, Cores: d.Cores, Progress: func(p trainer.Progress) {
		if at.Kept < 0 {
			at.Kept = p.Step - 1
		}
		at.Done, at.Note = p.Step, fmt.Sprintf("reward %.2f  KL %s", p.Reward, figure.FormatNumber(p.KL, 2))
		d.Report(at)
	}})
	if result == nil { // else it stopped at a value that is not finite, and its record says so
		return nil, 0, err
	}
	if at.Kept < 0 {
		d.Report(queue.State{Done: r.Steps, Kept: r.Steps})
		return result.Record, 0, nil
	}
	return result.Record, at.Done - at.Kept, nil
}

// label is what progress and errors call a cell.
func (c *Cell) label() string {
	return strings.Join(append(slices.Clone(c.names), fmt.Sprintf("seed %d", c.Seed)), ", ")
}
