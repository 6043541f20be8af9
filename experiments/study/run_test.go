package study

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
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
	p := must.Get(Parse("tiny.yaml", []byte(text)))(t)
	return must.Get(p.Grid(load))(t)
}

// filesOf are the files of a folder by their paths.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(text)
		return err
	}))
	return files
}

func sweepInto(t *testing.T, g *Grid, o Options) {
	t.Helper()
	must.Do(t, g.Run(context.Background(), o))
}

// TestRun: equal recipes are run once and are rows of their own, in the order of the
// plan; what is there is not made again.
func TestRun(t *testing.T) {
	g, dir := gridOf(t, tiny), t.TempDir()
	steps := 0
	count := func(p Progress) { steps = p.Done }
	sweepInto(t, g, Options{Dir: dir, Workers: 2, Progress: count})
	done := must.Get(Read(dir))(t)
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
	if rows[0].Trace != rows[2].Trace || rows[0].Trace == rows[4].Trace || rows[0].Trace == rows[1].Trace {
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
	done := must.Get(Read(want))(t)
	rows := done.Rows
	dir := t.TempDir()
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(context.Background())
		made := 0
		err := g.Run(ctx, Options{Dir: dir, Workers: 3, Progress: func(p Progress) {
			if made++; made == stop {
				cancel()
			}
		}})
		cancel()
		if err == nil {
			break
		}
		tear(t, filepath.Join(dir, record.CellsFile), stop)
	}
	again, err := Read(dir)
	if err != nil || len(again.Rows) != len(rows) {
		t.Fatalf("%d rows (%v), want %d", len(again.Rows), err, len(rows))
	}
	for i := range rows {
		if asJSON(t, rows[i]) != asJSON(t, again.Rows[i]) {
			t.Errorf("row %d\n%+v\nwant\n%+v", i, again.Rows[i], rows[i])
		}
	}
	for name, text := range filesOf(t, dir) {
		if name != record.CellsFile && whole[name] != text {
			t.Errorf("%s differs", name)
		}
	}
}

// TestCellsWithoutCurves: runs whose curves are not there are finished runs. Nothing
// is made again, and the table of steps and the page say what they lack.
func TestCellsWithoutCurves(t *testing.T) {
	g, dir := gridOf(t, tiny), t.TempDir()
	sweepInto(t, g, Options{Dir: dir})
	s := must.Get(openSweep(dir))(t)
	keys := must.Get(s.Keys())(t)
	for _, key := range keys {
		cell, _ := s.Cell(key)
		cell.Curve = nil
	}
	must.Do(t, s.Seal(keys))
	steps := 0
	sweepInto(t, g, Options{Dir: dir, Progress: func(p Progress) { steps = p.Done }})
	if steps != 0 {
		t.Errorf("%d steps were made again", steps)
	}
	done := must.Get(Finish(dir, Tables{Steps: true}))(t)
	if table := filesOf(t, dir)["steps.csv"]; strings.Count(table, "\n") != 1 {
		t.Errorf("the table of steps has more than its head:\n%s", table)
	}
	if page, _ := done.Report(nil, nil); !strings.Contains(page.Lead, "The steps of 4 runs are not here") {
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
	if os.IsNotExist(err) {
		return // no run has ended yet
	}
	if err != nil {
		t.Fatal(err)
	}
	must.Do(t, os.WriteFile(path, text[:max(0, len(text)-n)], 0o644))
}
