package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/diagnosetest"
)

// A summary fits on a screen, however much there is to say, and says that files are of different trainers.
func TestDiagnosisSummaryIsShort(t *testing.T) {
	r := diagnosed(t, "nemo/lagrun/train_data_step43.jsonl.gz", "dump.jsonl")
	if len(r.Causes) == 0 || len(r.Attribution) == 0 || len(r.Decisions) == 0 || r.Config == nil {
		t.Fatalf("the dump has too little to say: %+v", r.Verdict)
	}
	for len(r.Inputs) < 9 {
		r.Inputs = append(r.Inputs, r.Inputs[0])
	}
	r.Ambiguous = append(r.Ambiguous, [2]string{"lag", "unsynced"})
	r.Active = &diagnose.Active{Framework: "verl", Why: "on"}
	r.Reproduced = &diagnose.Reproduced{Recipe: "reproduce.yaml", Cause: diagnose.Staleness, Factor: 3}
	for _, result := range []diagnose.Result{diagnose.Watch, diagnose.Fail} {
		r := r
		for i := range 9 {
			r.Checks = append(r.Checks[:len(r.Checks):len(r.Checks)], diagnose.Check{ID: "law-identity", Scope: fmt.Sprint("env:", i), Result: result, Why: "why"})
		}
		if result == diagnose.Fail { // then nothing is attributed, and no correction tried
			r.Causes, r.Attribution, r.Ambiguous, r.Fixes, r.Config = nil, nil, nil, nil, nil
		}
		var out bytes.Buffer
		a := &app{stdout: &checkedWriter{Writer: &out}}
		a.printDiagnosis(r, "look")
		if n := height(out.String(), pageColumns); n > pageLines {
			t.Errorf("%s: %d lines of a terminal", result, n)
		}
		if n := strings.Count(out.String(), "\n"); n > 25 || !strings.Contains(out.String(), "env:4") || !strings.Contains(out.String(), "more, in --json") {
			t.Errorf("%s: %d lines:\n%s", result, n, out.String())
		}
	}
}

// diagnosed is the analysis of a shipped dump under a name of the test's own.
func diagnosed(t *testing.T, path, name string) diagnose.Report {
	t.Helper()
	a := diagnose.New(diagnose.Options{})
	diagnosetest.Read(t, a, filepath.Join("..", "..", "testdata", "dumps", path), name)
	return a.Report()
}

// With --strict a fault of learning is an error, whatever the log-probs are like.
func TestDiagnoseStrictLearning(t *testing.T) {
	for _, c := range []struct {
		level diagnose.Level
		is    bool
	}{{diagnose.Fault, true}, {diagnose.Warning, false}, {diagnose.Note, false}} {
		r := diagnose.Report{Inputs: []diagnose.Input{{Rows: 1}}, Verdict: diagnose.Verdict{State: diagnose.Genuine, LearningState: c.level}}
		if err := (&diagnoseCmd{Strict: true}).status(r, nil); (err != nil) != c.is {
			t.Errorf("%s: %v", c.level, err)
		}
	}
}
