package study

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	runner "driftlab/experiments/run"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// Options are the choices that change no figure.
type Options struct {
	// Dir is the study's folder. What is finished there is not run again.
	Dir string
	// Shard is the part of the runs to make; the zero value is all of them.
	Shard Shard
	// Only, unless it is empty, runs the cells alone that meet one of the conditions; where each names rates of a ladder, all of them,
	// whatever the ladder would ask for.
	Only []Condition
	// Keep leaves the whole folder of every run in runsFolder.
	Keep bool
	// Workers is the number of cores, which the runs share; 0 means one.
	Workers int
	// Progress is called as runs advance, never from two goroutines at once. Its
	// units are steps.
	Progress func(Progress)
	// Now is a clock for timesFile; nil keeps no times.
	Now func() time.Time
}

// Run makes the runs of a grid that are not there yet, several at a time, those of
// the first seed first. An interruption loses nothing: what is under way goes on from
// its last snapshot.
func (g *Grid) Run(ctx context.Context, o Options) error {
	lock, err := record.LockFolder(o.Dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	s, done, err := opened(o.Dir)
	if err != nil {
		return err
	}
	defer s.Close()
	if !o.Keep {
		for key := range done { // a process was killed after its run was kept
			if err := os.RemoveAll(s.runDir(key)); err != nil {
				return storage(s.runDir(key), err)
			}
		}
	}
	x := g.index()
	if old, err := s.Index(); err == nil && old != nil && len(o.Only) > 0 {
		x.keep(old, o.Only)
	}
	if err := s.WriteIndex(x); err != nil {
		return err
	}
	times := &times{path: filepath.Join(o.Dir, timesFile), now: o.Now}
	var before Progress
	for err == nil { // a ladder's next rungs follow from the outcomes; everything else is there after a round
		tasks := stats.Map(g.left(done, o), func(c *Cell) Task { return c.task(x, s, times, o.Keep) })
		if len(tasks) == 0 {
			break
		}
		round := before
		err = Work{Cores: o.Workers, GoOn: true, Progress: func(p Progress) {
			round = Progress{before.Done + p.Done, before.Kept + p.Kept, before.Total + p.Total, before.Ended + p.Ended, before.Tasks + p.Tasks, p.Latest, p.Note}
			if o.Progress != nil {
				o.Progress(round)
			}
		}}.Do(ctx, tasks)
		before = round
		if err == nil {
			done, err = outcomes(s)
		}
	}
	_ = os.Remove(filepath.Join(o.Dir, runsFolder)) // unless something is left in it
	return err
}

// task is the run of a cell, or the rest of it.
func (c *Cell) task(x *Index, s *Store, times *times, keep bool) Task {
	dir, name := s.runDir(c.Run), strings.TrimPrefix(fmt.Sprintf("%s, seed %d", x.valuesBut("", c.Values), c.Seed), ", ")
	return Task{Name: name, Units: c.Recipe.Steps, Store: s, Cell: record.Cell{Key: c.Run, Arm: x.armName(&x.Arms[c.Point]), Seed: c.Seed},
		Make: func(ctx context.Context, d *TaskContext) (any, any, error) {
			began := times.read()
			own := c.Recipe
			if keep { // somebody will read the name
				own.Name = runName(x.armName(&x.Arms[c.Point]))
			}
			r, made, err := Train(ctx, d, own, dir)
			if err != nil {
				return nil, nil, err
			}
			if made == r.Steps { // a resumed run says nothing of a whole run
				times.add(c, times.read().Sub(began))
			}
			return outcomeOf(c, r), curveOf(r), nil
		},
		Then: func(*record.Cell) error {
			if keep {
				return nil
			}
			if err := os.RemoveAll(dir); err != nil {
				return storage(dir, err)
			}
			return nil
		}}
}

// runName is an arm's name as a recipe may have it, which names a folder.
func runName(arm string) string {
	const most = 100 // characters
	name := strings.Trim(fileName(strings.ReplaceAll(arm, ", ", "-")), "-.")
	return cmp.Or(name[:min(len(name), most)], "run")
}

// Train makes the run of a recipe as a task, or what a folder has not of
// it yet; without one it is kept in memory. A run that a value which is not finite
// has ended is no error. made is how many of the steps it took.
func Train(ctx context.Context, d *TaskContext, r recipe.Recipe, dir string) (run *record.Record, made int, err error) {
	at := State{Kept: -1}
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
		d.Report(State{Done: r.Steps, Kept: r.Steps})
		return result.Record, 0, nil
	}
	return result.Record, at.Done - at.Kept, nil
}

// Left are the cells that Run would run, in that order.
func (g *Grid) Left(o Options) ([]*Cell, error) {
	_, done, err := opened(o.Dir)
	return g.left(done, o), err
}

// Climbs reports whether Run asks a ladder which learning rates to run: not where every condition of Only names them.
func (g *Grid) Climbs(o Options) bool {
	return g.Plan.Ladder != nil && (len(o.Only) == 0 || slices.ContainsFunc(o.Only, func(c Condition) bool { return !c.names(rateFactor) }))
}

// left are the cells to run, one for each run that is asked for and not there, in
// the order in which they begin.
func (g *Grid) left(done map[string]*Outcome, o Options) []*Cell {
	var cells []*Cell
	wanted, x := map[string]bool{}, *g.index()
	if !g.Climbs(o) {
		x.Ladder = nil
	}
	for _, w := range x.wanted(done) {
		if c := g.at(w); (len(o.Only) == 0 || meetsOne(o.Only, c.Values)) && (x.Ladder == nil || o.Shard.has(w.ladder)) {
			wanted[c.Run] = true
		}
	}
	for i, c := range g.Runs() {
		if wanted[c.Run] && (x.Ladder != nil || o.Shard.has(i)) && done[c.Run] == nil {
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

// Most bounds the cells that a ladder may still ask for: all of its steps that have not been run, and a middle of two.
func (g *Grid) Most(o Options) (most int, err error) {
	_, done, err := opened(o.Dir)
	if err != nil {
		return 0, err
	}
	bound := *g
	bound.Plan = new(Plan)
	*bound.Plan = *g.Plan
	bound.Plan.Ladder, bound.resolved = nil, nil
	for _, c := range bound.left(done, o) {
		if rate := c.Recipe.Learner.Optimizer.LR; g.Plan.Ladder == nil || g.Plan.Ladder.isStep(rate) {
			most++
		}
	}
	if x := g.index(); x.Ladder != nil {
		ladders, _ := x.ladders()
		most += len(ladders) * len(x.Seeds)
	}
	return most, nil
}

// index is Index, made once.
func (g *Grid) index() *Index {
	if g.resolved == nil {
		g.resolved = g.Index()
	}
	return g.resolved
}

// at is the cell of a place of the index: the cells of an arm stand together, in the order of the seeds.
func (g *Grid) at(w place) *Cell { return &g.Cells[w.arm*len(g.Plan.Seeds)+w.seed] }

// Runs are the first cells of all runs.
func (g *Grid) Runs() []*Cell {
	var cells []*Cell
	for i := range g.Cells {
		if c := &g.Cells[i]; g.cellsOf(c.Run)[0] == c {
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

// times is the file that says how long each run took: a measure for others.
type times struct {
	path string
	now  func() time.Time
	mu   sync.Mutex
}

func (t *times) read() time.Time {
	if t.now == nil {
		return time.Time{}
	}
	return t.now()
}

// add appends how long a run took, with what it computes.
func (t *times) add(c *Cell, took time.Duration) {
	if t.now == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return // nothing depends on it
	}
	_, _ = fmt.Fprintf(f, "%s,%.3f,%d,%.4g\n", c.Run, took.Seconds(), c.Recipe.Steps, c.Recipe.Work())
	_ = f.Close()
}

// Pace is how many seconds a unit of recipe.Work takes one core, by the times of the runs
// that a folder has of the grid; 0 runs where it has none.
func (g *Grid) Pace(dir string) (seconds float64, runs int) {
	f, err := os.Open(filepath.Join(dir, timesFile))
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1 // a torn line counts as none
	rows, _ := r.ReadAll()
	var took, cost float64
	for _, row := range rows {
		if len(row) != 4 || len(g.cellsOf(row[0])) == 0 {
			continue
		}
		if s, err := strconv.ParseFloat(row[1], 64); err == nil {
			took += s
			cost += g.cellsOf(row[0])[0].Recipe.Work()
			runs++
		}
	}
	if runs == 0 {
		return 0, 0
	}
	return took / cost, runs
}
