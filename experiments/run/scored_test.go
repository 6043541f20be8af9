package run

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/model"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/trainertest"
)

// halved stands for another engine: it halves every log-prob.
func halved(_ int, _ *model.Params, b *batch.Sampled) error {
	for n := range b.LogpRoll {
		b.LogpRoll[n] /= 2
	}
	return nil
}

// A run with a scorer that is stopped and resumed leaves the bytes of one that is not, its recording
// included, and so does a run from that recording.
func TestScoredRunResumes(t *testing.T) {
	r := trainertest.Recipe(t, "correction.weights=token_tis")
	dir := t.TempDir()
	whole, parts, again := filepath.Join(dir, "whole"), filepath.Join(dir, "parts"), filepath.Join(dir, "again")
	mustRun(t, r, Options{Dir: whole, Scorer: halved})
	ctx, stop := context.WithCancel(context.Background())
	_, err := Run(ctx, r, Options{Dir: parts, Scorer: halved, Progress: func(p trainer.Progress) {
		if p.Step == 3 {
			stop()
		}
	}})
	if err == nil {
		t.Fatal("the run was not stopped")
	}
	if _, err := Run(context.Background(), r, Options{Dir: parts}); err == nil || !strings.Contains(err.Error(), "a scorer gave") {
		t.Errorf("resumed without the scorer: %v", err)
	}
	mustRun(t, r, Options{Dir: parts, Scorer: halved})
	text, err := os.ReadFile(filepath.Join(whole, record.ScoredFile))
	if err != nil || bytes.Count(text, []byte("\n")) != r.Steps {
		t.Fatalf("%v, %d lines", err, bytes.Count(text, []byte("\n")))
	}
	scorer := must.Get(Recorded("a recording", text))(t)
	mustRun(t, r, Options{Dir: again, Scorer: scorer})
	for _, other := range []string{parts, again} {
		for _, name := range []string{record.ScoredFile, record.MetricsFile} {
			want := must.Get(os.ReadFile(filepath.Join(whole, name)))(t)
			if got, err := os.ReadFile(filepath.Join(other, name)); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s/%s is not that of the run that was not stopped: %v", filepath.Base(other), name, err)
			}
		}
	}
}
