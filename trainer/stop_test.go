package trainer

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer/batch"
)

// sessionOf is the session of a recipe, for tests that reach into it.
func sessionOf(t testing.TB, o Options, sets ...string) *session {
	t.Helper()
	r, p, err := Prepare(tinyRecipe(t, sets...))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSession(r, p, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// TestNonFinite poisons runs: they stop with step, tensor and cause, and keep
// what they had.
func TestNonFinite(t *testing.T) {
	poison := func(name string, value float32) func(*session) {
		return func(s *session) { s.learner.Params().Tensor(name).Data[3] = value }
	}
	for _, tc := range []struct {
		name          string
		sets          []string
		at            int // the step after which the poison is given
		poison        func(*session)
		step          int
		tensor, cause string
	}{
		{"weight", nil, 2, poison("lm_head.weight", float32(math.NaN())), 3, "NaN in lm_head.weight", "learner.optimizer.lr"},
		{"first step", nil, 0, poison("model.embed_tokens.weight", float32(math.Inf(1))), 1, "Inf in model.embed_tokens.weight", "learner.optimizer.lr"},
		{"rate", nil, 1, func(s *session) { s.recipe.Learner.Optimizer.LR = math.Inf(1) }, 2, "in model.", "learner.optimizer.lr"},
		{"last update", []string{"steps=3"}, 3, poison("lm_head.weight", float32(math.Inf(-1))), 4, "Inf in lm_head.weight", "learner.optimizer.lr"},
		{"fp16", []string{"learner.numerics=fp16", "learner.loss_scale.mode=none"}, 1,
			func(s *session) { s.recipe.Learner.Optimizer.LR = 1e6 }, 3, "Inf in embed", "fp16"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "run")
			var s *session
			s = sessionOf(t, Options{Dir: dir, Progress: func(p Progress) {
				if p.Step == tc.at {
					tc.poison(s)
				}
			}}, tc.sets...)
			b, first, err := s.open()
			if err != nil {
				t.Fatal(err)
			}
			if tc.at == 0 {
				tc.poison(s)
			}
			result, err := s.run(context.Background(), b, first)
			var step *StepError
			var value *learner.NonFinite
			if !errors.As(err, &step) || !errors.As(err, &value) || step.Step != tc.step || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(err.Error(), tc.tensor) || !strings.Contains(err.Error(), tc.cause) {
				t.Fatalf("error %v, want step %d, %s, %s", err, tc.step, tc.tensor, tc.cause)
			}
			if result.Summary.Status != record.StatusStopped || result.Summary.Reason != err.Error() {
				t.Errorf("summary %+v", result.Summary)
			}
			past, loadErr := record.Load(dir)
			if loadErr != nil || past.Steps != tc.step-1 || past.Summary == nil || past.Summary.Reason != err.Error() {
				t.Errorf("on record: %+v, %v", past, loadErr)
			}
			if _, err := os.Stat(filepath.Join(dir, record.CheckpointFolder)); !os.IsNotExist(err) {
				t.Errorf("a checkpoint of a run that was stopped: %v", err)
			}
			again, againErr := Run(context.Background(), tinyRecipe(t, tc.sets...), Options{Dir: dir})
			if againErr == nil || againErr.Error() != err.Error() || again.Record.Steps != tc.step-1 || again.Params != nil {
				t.Errorf("asked again: %v", againErr)
			}
		})
	}
}

// TestBadCheckpoint refuses a checkpoint that holds a NaN before anything is made of it.
func TestBadCheckpoint(t *testing.T) {
	r := tinyRecipe(t)
	p := model.New(r.Resolved().Model)
	p.Init(1)
	p.Tensor("model.norm.weight").Data[0] = float32(math.NaN())
	dir := filepath.Join(t.TempDir(), "bad")
	if err := model.Save(dir, p, model.Extras{}); err != nil {
		t.Fatal(err)
	}
	r.Checkpoint = dir
	run := filepath.Join(t.TempDir(), "run")
	result, err := Run(context.Background(), r, Options{Dir: run})
	var known *model.CheckpointError
	if result != nil || !errors.As(err, &known) || !strings.Contains(err.Error(), `tensor "model.norm.weight" holds NaN`) {
		t.Errorf("%v, %v", result, err)
	}
	if _, err := os.Stat(run); !os.IsNotExist(err) {
		t.Errorf("the run was begun: %v", err)
	}
}

// TestMethodError ends a run with the step; it can be taken up again.
func TestMethodError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	s := sessionOf(t, Options{Dir: dir})
	s.estimator = failing{}
	b, _, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	result, err := s.run(context.Background(), b, 0)
	var step *StepError
	if result != nil || !errors.As(err, &step) || step.Step != 1 || err.Error() != "step 1: out of luck" {
		t.Errorf("%v, %v", result, err)
	}
	if record.Finished(dir) || !record.Exists(dir) {
		t.Error("the run counts as finished")
	}
	mustRun(t, s.recipe, Options{Dir: dir})
}

// failing is an estimator that cannot.
type failing struct{}

func (failing) Estimate(*batch.Batch) error { return errors.New("out of luck") }
func (failing) Validate() error             { return nil }

// TestFolders names the path that cannot be written.
func TestFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	full := t.TempDir()
	if err := os.Symlink("/dev/full", filepath.Join(full, record.MetricsFile)); err != nil {
		t.Fatal(err)
	}
	snapshot := t.TempDir()
	if err := os.MkdirAll(filepath.Join(snapshot, record.StateFile, "in the way"), 0o755); err != nil {
		t.Fatal(err)
	}
	final := t.TempDir()
	if err := os.WriteFile(filepath.Join(final, record.CheckpointFolder), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ dir, path, problem string }{
		{filepath.Join(file, "run"), filepath.Join(file, "run"), "not a folder"},
		{full, filepath.Join(full, record.MetricsFile), "the disk is full"},
		{snapshot, filepath.Join(snapshot, record.StateFile), ""},
		{final, filepath.Join(final, record.CheckpointFolder), ""},
	} {
		if _, err := os.Stat("/dev/full"); tc.dir == full && err != nil {
			continue // a system without a disk that is always full
		}
		_, err := Run(context.Background(), tinyRecipe(t, "steps=26", "eval.every=0"), Options{Dir: tc.dir})
		if err == nil || !strings.Contains(err.Error(), tc.path) || !strings.Contains(err.Error(), tc.problem) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tc.dir, err)
		}
		if record.Finished(tc.dir) {
			t.Errorf("%s counts as finished", tc.dir)
		}
	}
}
