package sweep

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/experiments/queue"
	"driftlab/results/record"
)

// tiny is a sweep of milliseconds: two seeds of three points, two of them the same.
const tiny = `
base: headline
set: {steps: 4, eval: {every: 2, prompts: 4}, rollout: {prompts: 2, group: 2, max_tokens: 8}}
seeds: [3, 4]
factors:
  - name: method
    values:
      - {name: none, group: control}
      - {name: explicit, set: {correction: {weights: {name: none}}}, group: control}
      - {name: fp8, set: {rollout: {numerics: fp8-w8a8}}, group: engine}
`

// gridOf is the grid of a sweep's text.
func gridOf(t *testing.T, text string) *Grid {
	t.Helper()
	p, err := Parse("tiny.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Grid(load)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// filesOf are the files of a folder by their paths.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sweepInto(t *testing.T, g *Grid, o Options) {
	t.Helper()
	if err := Run(context.Background(), g, o); err != nil {
		t.Fatal(err)
	}
}

// TestRun: equal recipes are run once and are rows of their own, in the order of the
// plan; what is there is not made again.
func TestRun(t *testing.T) {
	g, dir := gridOf(t, tiny), t.TempDir()
	steps := 0
	count := func(p queue.Progress) { steps = p.Done }
	sweepInto(t, g, Options{Dir: dir, Workers: 2, Progress: count})
	done, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	rows := done.Rows
	if len(g.Runs()) != 4 || len(rows) != 6 || steps != 16 {
		t.Fatalf("%d runs, %d rows, %d steps, want 4, 6, 16", len(g.Runs()), len(rows), steps)
	}
	for i, o := range rows {
		if want := g.Cells[i]; o.Run != want.Run || o.Seed != want.Seed || !maps.Equal(o.Values, want.Values) {
			t.Errorf("row %d: %+v", i, o)
		}
		if o.Status != record.StatusFinished || o.Steps != 4 || len(o.Evals.Step) != 4 || len(o.Trace) != traceWidth || o.Tokens.Trained == 0 {
			t.Errorf("row %d: %+v", i, o)
		}
	}
	if rows[0].Trace.Parts(rows[2].Trace) != 0 || rows[0].Trace.Parts(rows[4].Trace) != windowSteps || rows[0].Trace.Parts(rows[1].Trace) != windowSteps {
		t.Errorf("traces %q, %q, %q, %q", rows[0].Trace, rows[2].Trace, rows[4].Trace, rows[1].Trace)
	}
	before := filesOf(t, dir)
	steps = 0
	sweepInto(t, g, Options{Dir: dir, Progress: count})
	if after := filesOf(t, dir); steps != 0 || !maps.Equal(before, after) {
		t.Errorf("%d steps again, %d files for %d", steps, len(after), len(before))
	}
}

// TestAnyOrder: one core or three, interrupted at any step or never, torn or whole:
// the same outcomes and the same steps.
func TestAnyOrder(t *testing.T) {
	g, want := gridOf(t, tiny), t.TempDir()
	sweepInto(t, g, Options{Dir: want, Workers: 1})
	whole := filesOf(t, want)
	done, err := Read(want)
	if err != nil {
		t.Fatal(err)
	}
	rows := done.Rows
	dir := t.TempDir()
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		made := 0
		err := Run(ctx, g, Options{Dir: dir, Workers: 3, Progress: func(p queue.Progress) {
			if made++; made == stop {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			break
		}
		tear(t, filepath.Join(dir, logFile), stop)
	}
	again, err := Read(dir)
	if err != nil || len(again.Rows) != len(rows) {
		t.Fatalf("%d rows (%v), want %d", len(again.Rows), err, len(rows))
	}
	for i := range rows {
		if !sameOutcome(rows[i], again.Rows[i]) {
			t.Errorf("row %d\n%+v\nwant\n%+v", i, again.Rows[i], rows[i])
		}
	}
	for name, text := range filesOf(t, dir) {
		if name != logFile && whole[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}

// TestLogAlone: lines that came without the steps of their runs are finished runs. Nothing
// is made again, and the table of steps and the page say what they lack.
func TestLogAlone(t *testing.T) {
	g, whole := gridOf(t, tiny), t.TempDir()
	sweepInto(t, g, Options{Dir: whole})
	dir := t.TempDir()
	for _, name := range []string{logFile, IndexFile} {
		text, err := os.ReadFile(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	steps := 0
	sweepInto(t, g, Options{Dir: dir, Progress: func(p queue.Progress) { steps = p.Done }})
	if steps != 0 {
		t.Errorf("%d steps were made again", steps)
	}
	done, err := Finish(dir, Tables{Steps: true})
	if err != nil {
		t.Fatal(err)
	}
	if table := filesOf(t, dir)["steps.csv"]; strings.Count(table, "\n") != 1 {
		t.Errorf("the table of steps has more than its head:\n%s", table)
	}
	if page, _ := done.Report(); !strings.Contains(page.Lead, "The steps of 4 runs are not here") {
		t.Errorf("the page says %q", page.Lead)
	}
	if _, err := Merge([]string{dir}, t.TempDir(), Tables{}); err != nil {
		t.Error(err)
	}
}

// tear takes some bytes off the end of a file.
func tear(t *testing.T, path string, n int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:max(0, len(text)-n)], 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedLog: a last line that is none counts as none, one in the middle is said.
func TestDamagedLog(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, logFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one, two := resealed(t, `{"run":"a","steps":1}`+"\n"), resealed(t, `{"run":"b","steps":2}`+"\n")
	for text, want := range map[string]int{"": 0, one: 1, one + two: 2, one + two[:9]: 1, one + "\x00\x00\n": 1, one + one: 1} {
		write(text)
		if done, size, err := readLog(dir); err != nil || len(done) != want || !bytes.HasPrefix([]byte(text), []byte(text)[:size]) {
			t.Errorf("%q: %d lines (%v), want %d", text, len(done), err, want)
		}
	}
	for text, want := range map[string]string{
		one + "{}\n" + two: "runs.jsonl:2: it has no seal",
		"x\n" + one:        "runs.jsonl:1: it has no seal",
		one + resealed(t, `{"run":"a","steps":3}`+"\n"):               "runs.jsonl:2: a second outcome of run a, which differs from the one in line 1 in steps",
		one + resealed(t, `{"run":"a","steps":1,"peak":0.5}`+"\n"):    "in line 1 in peak",
		strings.Replace(one, `"steps":1`, `"steps":2`, 1):             "runs.jsonl:1: not as it was written",
		two + strings.Replace(one, `"run":"a"`, `"run":"c"`, 1) + two: "runs.jsonl:2: not as it was written",
		`{"run":"a","steps":1}` + "\n":                                "simulate seal " + dir,
	} {
		write(text)
		if _, _, err := readLog(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestSeal: a sweep of a version without seals gets them, and is otherwise the sweep that it
// was; what contradicts itself gets none.
func TestSeal(t *testing.T) {
	g, dir := gridOf(t, tiny), t.TempDir()
	whole := finished(t, g, dir, Options{})
	strip := func(name string) {
		var bare strings.Builder
		for line := range strings.Lines(whole[name]) {
			text, err := record.OpenLine([]byte(strings.TrimSuffix(line, "\n")))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			bare.WriteString(string(text) + "\n")
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(bare.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	strip(logFile)
	strip(IndexFile)
	if n, err := Seal(dir); n != 4+1 || err != nil {
		t.Fatalf("%d lines (%v), want the 4 runs and the index", n, err)
	}
	if got := filesOf(t, dir); !maps.Equal(got, whole) {
		t.Error("a sealed folder is not what it was")
	}
	if n, err := Seal(dir); n != 0 || err != nil {
		t.Errorf("a second time: %d, %v", n, err)
	}
	first, _, _ := strings.Cut(whole[logFile], "\n")
	other, _ := record.OpenLine([]byte(first))
	text := whole[logFile] + strings.Replace(string(other), `"status":"finished"`, `"status":"stopped"`, 1) + "\n"
	if err := os.WriteFile(filepath.Join(dir, logFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Seal(dir); err == nil || !strings.Contains(err.Error(), "runs.jsonl:5: a second outcome") {
		t.Errorf("a contradiction: %v", err)
	}
}
