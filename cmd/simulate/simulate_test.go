package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"driftlab/precision/must"
	"driftlab/results/record"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected files in the scripts; read the difference before committing it")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"simulate": main})
}

// TestScripts runs every script of testdata: the program as people call it.
func TestScripts(t *testing.T) {
	programName = func() string { return "simulate" } // for cmdRefuses
	dir := must.Get(filepath.Abs("testdata"))(t)      // cmdRefuses leaves this folder
	testscript.Run(t, testscript.Params{
		Dir:           dir,
		UpdateScripts: *update,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   cmdExits,
			"refuses": cmdRefuses,
			"json":    cmdJSON,
			"lines":   cmdLines,
		},
		Condition: func(name string) (bool, error) {
			path, ok := strings.CutPrefix(name, "there:")
			if !ok {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := os.Stat(path)
			return err == nil, nil
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("DUMPS", filepath.Join(dir, "..", "..", "..", "testdata", "dumps"))
			tiny, err := os.ReadFile(filepath.Join(dir, "tiny.yaml"))
			if err != nil {
				return err
			}
			return os.WriteFile(e.WorkDir+"/tiny.yaml", tiny, 0o644)
		},
	})
}

// cmdExits runs a program and demands an exit status: exits 2 simulate train x.
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var status *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &status) {
		got = status.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// refusing is held by the script whose folder the process is in.
var refusing sync.Mutex

// cmdRefuses demands that arguments are bad input: refuses train x. They are refused in this process, as to start the program
// costs ten times as much. Where the environment matters, or a stream, exits 2 simulate ... starts it.
func cmdRefuses(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: refuses ARGS...")
	}
	refusing.Lock()
	defer refusing.Unlock()
	back, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(back)) }()
	if got := run(args, ts.Stdout(), ts.Stderr()); got != 2 {
		ts.Fatalf("exit status %d, want 2", got)
	}
}

// cmdLines waits until a file has that many lines, or with ! fewer, which one that is not
// there has: lines 5 run/metrics.jsonl.
func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for range 2000 {
		text, err := os.ReadFile(ts.MkAbs(args[1]))
		if enough := err == nil && bytes.Count(text, []byte("\n")) >= want; enough != neg {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("%s goes on with fewer than %d lines, or with as many where they should go", args[1], want)
}

// cmdJSON checks that a file, or stdout, is one JSON document and nothing
// else, and that it has the given values: json stdout pairs.0.gap.k3=0. A path
// without a value must exist; PATH.len is a list's length.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: json FILE PATH=VALUE...")
	}
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	var doc any
	ts.Check(d.Decode(&doc))
	if _, err := d.Token(); err != io.EOF {
		ts.Fatalf("%s: more than one JSON document", args[0])
	}
	for _, arg := range args[1:] {
		at := strings.LastIndexByte(arg, '=')
		path, want, compare := arg, "", at >= 0
		if compare {
			path, want = arg[:at], arg[at+1:]
		}
		got, err := lookUp(doc, strings.Split(path, "."))
		ts.Check(err)
		if compare && fmt.Sprint(got) != want {
			ts.Fatalf("%s is %v, want %s", path, got, want)
		}
	}
}

// lookUp follows a path into a JSON document.
func lookUp(doc any, path []string) (any, error) {
	for i, step := range path {
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				next, ok = v[strings.Join(path[i:], ".")]
				if ok {
					return next, nil
				}
				return nil, fmt.Errorf("%s: there is no %s", strings.Join(path, "."), step)
			}
			doc = next
		case []any:
			n, err := strconv.Atoi(step)
			switch {
			case step == "len":
				doc = len(v)
			case err != nil || n >= len(v):
				return nil, fmt.Errorf("%s: no entry %s of %d", strings.Join(path, "."), step, len(v))
			default:
				doc = v[n]
			}
		default:
			return nil, fmt.Errorf("%s: %v has no fields", strings.Join(path, "."), doc)
		}
	}
	return doc, nil
}

// TestInternalError checks that a panic ends in one line and status 1.
func TestInternalError(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{stderr: &stderr}
	if status := a.fail(internalError("a broken invariant")); status != statusFailure {
		t.Errorf("status %d", status)
	}
	if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "a broken invariant") {
		t.Errorf("printed %q", got)
	}
}

// TestStatus classifies errors as scripts rely on it.
func TestStatus(t *testing.T) {
	kept, empty := t.TempDir(), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(kept, "recipe.yaml"), nil, 0o644))
	must.Do(t, os.WriteFile(filepath.Join(empty, record.LockFile), nil, 0o644))
	for _, tc := range []struct {
		err    error
		status int
		text   string
	}{
		{nil, statusOK, ""},
		{errors.New("a failure"), statusFailure, "simulate: a failure\n"},
		{bad("a %s", "fault"), statusBadInput, "simulate: a fault\n"},
		{fmt.Errorf("run: %w", context.Canceled), statusInterrupted, "simulate: stopped; no results were kept; run the same command again\n"},
		{resumable(fmt.Errorf("run: %w", context.Canceled), kept), statusInterrupted, "simulate: stopped; run the same command again to resume from " + kept + "\n"},
		{resumable(fmt.Errorf("run: %w", context.Canceled), empty), statusInterrupted, "simulate: stopped; no results were kept; run the same command again\n"},
		{fmt.Errorf("save: %w", syscall.ENOSPC), statusBadInput, "simulate: save: no space left on device\n"},
	} {
		var stderr bytes.Buffer
		a := &app{stderr: &stderr}
		if status := a.fail(tc.err); status != tc.status || stderr.String() != tc.text {
			t.Errorf("%v: status %d, printed %q", tc.err, status, stderr.String())
		}
	}
}
