package trainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer/batch"
	"driftlab/trainer/recipe"
)

// snapshotEvery is the number of steps between the snapshots an interrupted
// run resumes from.
const snapshotEvery = 25

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
// why, and the error is a StepError.
func Run(ctx context.Context, r recipe.Recipe, o Options) (*Result, error) {
	r, p, err := Prepare(r)
	if err != nil {
		return nil, err
	}
	if o.Dir != "" {
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
	s, err := newSession(r, p, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	b, first, err := s.open()
	if err != nil {
		return nil, err
	}
	return s.run(ctx, b, first)
}

// Prepare loads the first weights of a resolved recipe, scaled as it says.
func Prepare(r recipe.Recipe) (recipe.Recipe, *model.Params, error) {
	if r.Checkpoint == "" {
		r = r.Resolved()
		if err := r.Validate(); err != nil {
			return r, nil, err
		}
		p := model.New(r.Model)
		p.Init(r.Seed)
		scaleInvariant(p, r.InvariantScale)
		return r, p, nil
	}
	c, err := model.Open(r.Checkpoint)
	if err != nil {
		return r, nil, err
	}
	if r, err = r.ResolvedFor(c.Params.Config); err != nil {
		return r, nil, err
	}
	scaleInvariant(c.Params, r.InvariantScale)
	return r, c.Params, nil
}

// openTeacher loads the weights of a recipe's teacher, nil if it has none.
func openTeacher(r recipe.Recipe) (*model.Params, error) {
	if r.Teacher == "" {
		return nil, nil
	}
	fault := func(format string, args ...any) (*model.Params, error) {
		return nil, recipe.Faults{{Path: "teacher", Problem: fmt.Sprintf(format, args...)}}
	}
	c, err := model.Open(r.Teacher)
	if err != nil {
		return fault("%v", err)
	}
	t := c.Params.Config
	if longest := r.Task.Params.MaxPrompt() + r.Rollout.MaxTokens; t.Vocab < r.Model.Vocab || t.Context < longest {
		return fault("%s has a vocabulary of %d and a context of %d, the run takes %d and %d", r.Teacher, t.Vocab, t.Context, r.Model.Vocab, longest)
	}
	return c.Params, nil
}

// book is the run's record: in memory, and in a directory if there is one.
type book struct {
	file   *record.Run // nil without a directory
	record *record.Record
	dump   *record.DumpWriter // nil without a directory or a dump
}

func (b *book) add(step int, metrics []record.Metric) error {
	b.record.Add(step, metrics)
	if b.file == nil {
		return nil
	}
	return b.file.Step(step, metrics)
}

// close leaves the files as they are, to be taken up again.
func (b *book) close() error {
	var err error
	if b.file != nil {
		err = b.file.Close()
	}
	if b.dump != nil {
		err = errors.Join(err, b.dump.Close())
	}
	return err
}

// open creates the run's directory, or takes up what an interrupted run left
// there. It returns the number of steps already made.
func (s *session) open() (*book, int, error) {
	dir, r := s.options.Dir, &s.recipe
	b := &book{record: &record.Record{Dir: dir, Name: r.Name, Seed: r.Seed, Recipe: r.YAML()}}
	if dir == "" {
		return b, 0, nil
	}
	past, err := s.past()
	if err != nil {
		return nil, 0, err
	}
	done := past.Record.Step
	if b.dump, err = record.OpenRunDump(dir, s.options.DumpFile, r.Name, done, past.Dump); err != nil {
		return nil, 0, err
	}
	if b.dump != nil {
		s.options.Dump = b.dump
	}
	if !record.Exists(dir) {
		b.file, err = record.Create(dir, b.record.Recipe)
	} else if b.file, err = record.Resume(dir, b.record.Recipe, past.Record); err == nil {
		b.record, err = record.Load(dir)
	}
	if err != nil {
		s.abandon(b)
		return nil, 0, err
	}
	return b, done, nil
}

// past restores what an interrupted run left in the directory.
func (s *session) past() (*snapshot, error) {
	dir := s.options.Dir
	if !record.Exists(dir) {
		return &snapshot{}, record.Vacant(dir)
	}
	started, err := record.Load(dir)
	if err != nil {
		return nil, err
	}
	if err := started.SameRecipe(s.recipe.YAML()); err != nil {
		return nil, err // before its state, which another recipe could not read
	}
	past, err := s.restore(dir)
	if err == nil && past.Record.Step < 1 {
		past = &snapshot{} // interrupted before the first step: begun again
	}
	return past, err
}

// run makes the steps from first on.
func (s *session) run(ctx context.Context, b *book, first int) (*Result, error) {
	r := &s.recipe
	var failure error
	status, reason := record.StatusFinished, ""
	if err := s.start(ctx, b, first); err != nil {
		s.abandon(b)
		return nil, err
	}
	step := first
	for ; step < r.Steps; step++ {
		if ctx.Err() != nil {
			return nil, s.interrupt(ctx, b, step)
		}
		if err := s.step(step); err != nil {
			var value *learner.NonFinite
			if !errors.As(err, &value) {
				s.abandon(b)
				return nil, &StepError{Step: step + 1, Err: err}
			}
			failure = &StepError{Step: step + 1, Err: err}
			status, reason = record.StatusStopped, failure.Error()
			break
		}
		if every := r.Eval.Every; every > 0 && (step == 0 || (step+1)%every == 0 || step+1 == r.Steps) {
			s.evaluate()
		}
		if err := b.add(step+1, figures(s.metrics)); err != nil {
			s.abandon(b)
			return nil, err
		}
		if (step+1)%snapshotEvery == 0 && step+1 < r.Steps {
			if err := s.save(b); err != nil {
				s.abandon(b)
				return nil, err
			}
		}
		s.report(step + 1)
	}
	if failure == nil {
		// The last update was not tried by a forward pass.
		if err := s.learner.CheckWeights(); err != nil {
			failure = &StepError{Step: step + 1, Err: err}
			status, reason = record.StatusStopped, failure.Error()
		}
	}
	summary := summarise(*r, b.record, status, reason)
	if err := s.finish(b, summary); err != nil {
		return nil, err
	}
	b.record.Summary = &summary
	return &Result{Summary: summary, Record: b.record, Params: s.learner.Params()}, failure
}

// start evaluates the weights that the first update will move, so that a fall is
// measured from where the run began. It is on record as step 0. A run that is
// taken up has it there.
func (s *session) start(ctx context.Context, b *book, first int) error {
	if first > 0 || s.recipe.Eval.Every == 0 || ctx.Err() != nil {
		return nil
	}
	s.evaluate()
	return b.add(0, figures(s.metrics))
}

// interrupt saves what there is, so that the run can be taken up again.
func (s *session) interrupt(ctx context.Context, b *book, step int) error {
	if b.file == nil {
		return ctx.Err()
	}
	if err := s.save(b); err != nil {
		s.abandon(b)
		return err
	}
	if err := b.close(); err != nil {
		return err
	}
	return fmt.Errorf("stopped after step %d of %d, run again with --out %s to resume: %w", step, s.recipe.Steps, s.options.Dir, ctx.Err())
}

// abandon closes the record as it is; the next run resumes from the last snapshot.
func (s *session) abandon(b *book) {
	_ = b.close() // the error that led here is the one to report
}

// finish writes the final weights and the summary, and last the seal: a run that
// is killed before it makes its last steps again.
func (s *session) finish(b *book, summary record.Summary) error {
	if b.file == nil {
		return nil
	}
	dir := s.options.Dir
	if summary.Status == record.StatusFinished {
		if err := model.Save(filepath.Join(dir, record.CheckpointFolder), s.learner.Params(), model.Extras{Vocab: s.task.Vocab()}); err != nil {
			s.abandon(b)
			return err
		}
	}
	if b.dump != nil {
		if err := b.dump.Finish(); err != nil {
			return errors.Join(err, b.file.Close())
		}
	}
	if err := b.file.Finish(summary); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, record.StateFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// report tells whoever watches how the step went.
func (s *session) report(done int) {
	p := Progress{Step: done, Steps: s.recipe.Steps}
	p.Reward, _ = s.metric("critic/score/mean")
	p.KL, _ = s.metric("gap/k3")
	p.Length, _ = s.metric("response_length/mean")
	s.options.progress(p)
}

// finished reads a run that needs no running, with the error it ended with if
// it was stopped.
func finished(o Options, r recipe.Recipe) (*Result, error) {
	dir := o.Dir
	past, err := record.Load(dir)
	if err != nil {
		return nil, err
	}
	if err := past.SameRecipe(r.YAML()); err != nil {
		return nil, err
	}
	if o.DumpFile != "" {
		if err := record.CheckRunDump(dir, o.DumpFile); err != nil {
			return nil, err
		}
	}
	_ = os.Remove(filepath.Join(dir, record.StateFile)) // of a run killed after its end
	result := &Result{Summary: *past.Summary, Record: past}
	if past.Summary.Status == record.StatusStopped {
		// The step is part of the reason; StepError adds it again.
		step := past.Summary.Steps + 1
		_, reason, _ := strings.Cut(past.Summary.Reason, ": ")
		return result, &StepError{Step: step, Err: errors.New(reason)}
	}
	c, err := model.Load(filepath.Join(dir, record.CheckpointFolder))
	if err != nil {
		return nil, err
	}
	result.Params = c.Params
	return result, nil
}

// figures translates the step's metrics for the record.
func figures(m []batch.Metric) []record.Metric {
	out := make([]record.Metric, len(m))
	for i, x := range m {
		out[i] = record.Metric(x)
	}
	return out
}
