package run

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
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// mustRun makes a run that has to finish.
func mustRun(t testing.TB, r recipe.Recipe, o Options) *Result {
	t.Helper()
	return must.Get(Run(context.Background(), r, o))(t)
}

// begun is a run of the tiny recipe whose folder has been opened.
func begun(t *testing.T, dir string, progress func(trainer.Progress), sets ...string) *run {
	t.Helper()
	r, p, err := trainer.Prepare(trainertest.Recipe(t, sets...))
	must.Do(t, err)
	s := must.Get(trainer.NewSession(r, p, trainer.Options{Progress: progress}))(t)
	t.Cleanup(s.Close)
	run := &run{session: s, recipe: r, dir: dir}
	must.Get(run.open(""))(t)
	return run
}

// TestNonFinite poisons a run: it stops, keeps what it had, and says so again.
func TestNonFinite(t *testing.T) {
	for name, at := range map[string]int{"a step": 2, "the last update": 6} {
		dir := filepath.Join(t.TempDir(), "run")
		var r *run
		r = begun(t, dir, func(p trainer.Progress) {
			if p.Step == at {
				r.session.Params().Tensor("lm_head.weight").Data[3] = float32(math.NaN())
			}
		})
		result, err := r.from(context.Background(), 0)
		var step *trainer.StepError
		var value *learner.NonFinite
		if !errors.As(err, &step) || !errors.As(err, &value) || step.Step != at+1 {
			t.Fatalf("%s: error %v", name, err)
		}
		if result.Summary.Status != record.StatusStopped || result.Summary.Reason != err.Error() {
			t.Errorf("%s: summary %+v", name, result.Summary)
		}
		past, loadErr := record.Load(dir)
		if loadErr != nil || past.Steps != at || past.Summary == nil || past.Summary.Reason != err.Error() {
			t.Errorf("%s: on record: %+v, %v", name, past, loadErr)
		}
		if _, err := os.Stat(filepath.Join(dir, record.CheckpointFolder)); !os.IsNotExist(err) {
			t.Errorf("%s: a checkpoint of a run that was stopped: %v", name, err)
		}
		again, againErr := Run(context.Background(), trainertest.Recipe(t), Options{Dir: dir})
		if againErr == nil || againErr.Error() != err.Error() || again.Record.Steps != at || again.Params != nil {
			t.Errorf("%s: asked again: %v", name, againErr)
		}
	}
}

// TestBadCheckpoint refuses a checkpoint that holds a NaN before anything is made of it.
func TestBadCheckpoint(t *testing.T) {
	r := trainertest.Recipe(t)
	p := model.New(r.Resolved().Model)
	p.Init(1)
	p.Tensor("model.norm.weight").Data[0] = float32(math.NaN())
	dir := filepath.Join(t.TempDir(), "bad")
	must.Do(t, model.Save(dir, p, model.Extras{}))
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

// TestStepError leaves a run that another error ended to be taken up again.
func TestStepError(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := begun(t, dir, nil)
	r.file.Close() // a disk that takes no more
	if result, err := r.from(context.Background(), 0); result != nil || err == nil {
		t.Errorf("%v, %v", result, err)
	}
	if record.Finished(dir) || !record.Exists(dir) {
		t.Error("the run counts as finished")
	}
	mustRun(t, trainertest.Recipe(t), Options{Dir: dir})
}

// TestFolders names the path that cannot be written.
func TestFolders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, nil, 0o644))
	full := t.TempDir()
	must.Do(t, os.Symlink("/dev/full", filepath.Join(full, record.MetricsFile)))
	snapshot := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(snapshot, record.StateFile, "in the way"), 0o755))
	final := t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(final, record.CheckpointFolder), nil, 0o644))
	for _, tc := range []struct{ dir, path, problem string }{
		{filepath.Join(file, "run"), filepath.Join(file, "run"), "not a folder"},
		{full, filepath.Join(full, record.MetricsFile), "the disk is full"},
		{snapshot, filepath.Join(snapshot, record.StateFile), ""},
		{final, filepath.Join(final, record.CheckpointFolder), ""},
	} {
		if _, err := os.Stat("/dev/full"); tc.dir == full && err != nil {
			continue // a system without a disk that is always full
		}
		_, err := Run(context.Background(), trainertest.Recipe(t, "steps=26", "eval.every=0"), Options{Dir: tc.dir})
		if err == nil || !strings.Contains(err.Error(), tc.path) || !strings.Contains(err.Error(), tc.problem) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", tc.dir, err)
		}
		if record.Finished(tc.dir) {
			t.Errorf("%s counts as finished", tc.dir)
		}
	}
}
