package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlab/engine/learner"
	"driftlab/experiments/run/dump"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// A killed run resumes from a snapshot: one after every snapshotWork multiply-adds, seconds on one core, or, if that is more,
// snapshotValueWork for every number of the last one: thirty times as long as to write it. A stopped run writes its own.
const (
	snapshotWork      = 1e11
	snapshotValueWork = 2e4
)

// snapshotEvery is the most steps between two snapshots: no limit. Tests want more.
var snapshotEvery = 1 << 30

// snapshotSteps is the number of steps between the snapshots of a recipe's run, the last of which had so many numbers.
func snapshotSteps(r recipe.Recipe, values int) int {
	work := max(snapshotWork, snapshotValueWork*float64(values))
	return max(1, int(min(float64(snapshotEvery), work*float64(r.Steps)/r.Work())))
}

// Options are the choices that change no figure of a run, but for Scorer: where it is kept, who
// watches, how many cores it may use.
type Options struct {
	// Dir is the run directory; empty keeps everything in memory.
	Dir string
	// Workers is the number of cores, 0 means one, and Cores says how many there are
	// by now, as trainer.Options have them.
	Workers int
	Cores   func() int
	// Recompute saves memory, as trainer.Options has it.
	Recompute bool
	// Scorer gives the responses other log-probs than the rollout engine's, as trainer.Options
	// has it; a directory then keeps them in record.ScoredFile.
	Scorer trainer.Scorer
	// Progress is called after every step, in the loop's goroutine.
	Progress func(trainer.Progress)
	// Step is given the figures of every step as they go on record, in the loop's
	// goroutine; nil for none.
	Step func(step int, metrics []record.Metric)
	// Dump receives one line per sampled response; nil for none.
	Dump *record.DumpWriter
	// DumpFile is the path of a dump that belongs to the run in Dir: begun, taken
	// up and completed with it. Empty for none.
	DumpFile string
}

// Result is a run that ended by itself.
type Result struct {
	// Summary is what summary.json holds.
	Summary record.Summary
	// Record holds the figures of every step, as they would be read back.
	Record *record.Record
	// Params are the final weights. Those of a stopped run may not be finite, and
	// are nil where the run was read from its record.
	Params *model.Params
}

// Run makes the run of a recipe. With a directory it keeps a record there,
// takes up an unfinished run of the same recipe where it was interrupted, and
// returns a finished one without running it again. A cancelled context stops
// it at the next step, resumable, with the context's error. A value that is
// not finite ends the run: the record up to there is kept, the summary says
// why, and the error is a trainer.StepError.
func Run(ctx context.Context, r recipe.Recipe, o Options) (*Result, error) {
	r, p, err := trainer.Prepare(r)
	if err != nil {
		return nil, err
	}
	scorer, scored := o.Scorer, (*recording)(nil)
	if o.Dir != "" {
		if err := sameScoring(o.Dir, scorer); err != nil {
			return nil, err
		}
		if scorer != nil {
			scored = &recording{path: filepath.Join(o.Dir, record.ScoredFile), scorer: scorer}
			scorer = scored.score
		}
		if record.Finished(o.Dir) {
			return finished(o, r)
		}
		lock, err := record.LockFolder(o.Dir)
		if err != nil {
			return nil, err
		}
		defer lock.Release()
		if record.Finished(o.Dir) { // by the process that held it
			return finished(o, r)
		}
	}
	s, err := trainer.NewSession(r, p, trainer.Options{
		Workers: o.Workers, Cores: o.Cores, Recompute: o.Recompute, Scorer: scorer, Progress: o.Progress, KeepTrained: o.Dump != nil || o.DumpFile != ""})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	run := &run{session: s, recipe: r, dir: o.Dir, lines: o.Dump, watch: o.Step}
	first, err := run.open(o.DumpFile)
	if err != nil {
		return nil, err
	}
	if scored != nil {
		if err := scored.open(); err != nil {
			run.abandon()
			return nil, err
		}
	}
	return run.from(ctx, first)
}

// run is a session and its record: in memory, and in a directory if there is one.
type run struct {
	session *trainer.Session
	recipe  recipe.Recipe
	dir     string
	record  *record.Record
	file    *record.Run        // nil without a directory
	dump    *record.DumpWriter // the run's own; nil without a directory or a dump
	lines   *record.DumpWriter // where its responses go; nil for nowhere
	watch   func(step int, metrics []record.Metric)
	done    int // steps on record
	saved   int // steps that the last snapshot has
	values  int // numbers in it
}

// open creates the run's directory, or takes up what an interrupted run left
// there. It returns the number of steps already made.
func (r *run) open(dumpFile string) (int, error) {
	r.record = &record.Record{Dir: r.dir, Name: r.recipe.Name, Seed: r.recipe.Seed, Recipe: r.recipe.YAML()}
	if r.dir == "" {
		return 0, nil
	}
	past, err := r.past()
	if err != nil {
		return 0, err
	}
	r.done, r.saved = past.Record.Step, past.Record.Step
	if r.dump, err = record.OpenRunDump(r.dir, dumpFile, r.recipe.Name, r.done, past.Dump); err != nil {
		return 0, err
	}
	if r.dump != nil {
		r.lines = r.dump
	}
	if !record.Exists(r.dir) {
		r.file, err = record.Create(r.dir, r.record.Recipe)
	} else if r.file, err = record.Resume(r.dir, r.record.Recipe, past.Record); err == nil {
		r.record, err = record.Load(r.dir)
	}
	if err != nil {
		r.abandon()
		return 0, err
	}
	return r.done, nil
}

// past restores what an interrupted run left in the directory.
func (r *run) past() (*snapshot, error) {
	if !record.Exists(r.dir) {
		return &snapshot{}, record.Vacant(r.dir)
	}
	record, err := record.Load(r.dir)
	if err != nil {
		return nil, err
	}
	if err := record.SameRecipe(r.recipe.YAML()); err != nil {
		return nil, err // before its state, which another recipe could not read
	}
	past, err := restore(r.session, r.dir)
	if err == nil && past.Record.Step < 1 {
		past = &snapshot{} // interrupted before the first step: begun again
	}
	return past, err
}

// from makes the steps from first on.
func (r *run) from(ctx context.Context, first int) (*Result, error) {
	status, reason := record.StatusFinished, ""
	failure := r.session.Run(ctx, first, r.add)
	var value *learner.NonFinite
	switch {
	case failure == nil:
	case errors.As(failure, &value):
		status, reason = record.StatusStopped, failure.Error()
	case ctx.Err() != nil && errors.Is(failure, ctx.Err()):
		return nil, r.interrupt(ctx)
	default:
		r.abandon()
		return nil, failure
	}
	summary := summarise(r.recipe, r.record, status, reason)
	r.record.Clock = clockOf(r.session, r.recipe)
	if err := r.finish(summary); err != nil {
		return nil, err
	}
	r.record.Summary = &summary
	return &Result{Summary: summary, Record: r.record, Params: r.session.Params()}, failure
}

// add puts a step on record, with a snapshot where one is due.
func (r *run) add(step int, figures []batch.Metric) error {
	if r.lines != nil && step > 0 {
		b, prompts, verdicts, trained := r.session.Sampled()
		w := dump.Writer{To: r.lines, Run: r.recipe.Name, Step: step, Sampling: r.recipe.Rollout}
		if err := w.Write(b, prompts, verdicts, trained); err != nil {
			return &trainer.StepError{Step: step, Err: err}
		}
	}
	metrics := make([]record.Metric, len(figures))
	for i, x := range figures {
		metrics[i] = record.Metric(x)
	}
	r.record.Add(step, metrics)
	if r.file != nil {
		if err := r.file.Step(step, metrics); err != nil {
			return err
		}
	}
	if r.watch != nil {
		r.watch(step, metrics)
	}
	r.done = step
	if step-r.saved >= snapshotSteps(r.recipe, r.values) && step < r.recipe.Steps {
		return r.save()
	}
	return nil
}

// interrupt saves what there is, so that the run can be resumed.
func (r *run) interrupt(ctx context.Context) error {
	if r.file == nil {
		return ctx.Err()
	}
	if err := r.save(); err != nil {
		r.abandon()
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	return fmt.Errorf("stopped after step %d of %d, run again with --out %s to resume: %w", r.done, r.recipe.Steps, r.dir, ctx.Err())
}

// close leaves the files as they are, to be resumed.
func (r *run) close() error {
	var err error
	if r.file != nil {
		err = r.file.Close()
	}
	if r.dump != nil {
		err = errors.Join(err, r.dump.Close())
	}
	return err
}

// abandon closes the record as it is; the next run resumes from the last snapshot.
func (r *run) abandon() {
	_ = r.close() // the error that led here is the one to report
}

// finish writes the final weights and the summary, and last the seal: a run that
// is killed before it makes its last steps again.
func (r *run) finish(summary record.Summary) error {
	if r.file == nil {
		return nil
	}
	if summary.Status == record.StatusFinished {
		if err := model.Save(filepath.Join(r.dir, record.CheckpointFolder), r.session.Params(), model.Extras{Vocab: r.session.Vocab()}); err != nil {
			r.abandon()
			return err
		}
	}
	if r.dump != nil {
		if err := r.dump.Finish(); err != nil {
			return errors.Join(err, r.file.Close())
		}
	}
	if err := r.keepClock(); err != nil {
		return err
	}
	if err := r.file.Finish(summary); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(r.dir, record.StateFile)) // which need not be there
}

// finished reads a run that needs no running, with the error it ended with if
// it was stopped.
func finished(o Options, r recipe.Recipe) (*Result, error) {
	past, err := record.Load(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := past.SameRecipe(r.YAML()); err != nil {
		return nil, err
	}
	if o.DumpFile != "" {
		if err := record.CheckRunDump(o.Dir, o.DumpFile); err != nil {
			return nil, err
		}
	}
	_ = os.Remove(filepath.Join(o.Dir, record.StateFile)) // of a run killed after its end
	result := &Result{Summary: *past.Summary, Record: past}
	if past.Summary.Status == record.StatusStopped {
		_, reason, _ := strings.Cut(past.Summary.Reason, ": ") // without the step, which StepError adds again
		return result, &trainer.StepError{Step: past.Summary.Steps + 1, Err: errors.New(reason)}
	}
	c, err := model.Load(filepath.Join(o.Dir, record.CheckpointFolder))
	if err != nil {
		return nil, err
	}
	result.Params = c.Params
	return result, nil
}
