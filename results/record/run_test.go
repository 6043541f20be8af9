package record

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"driftlab/precision/must"
)

const demoRecipe = "name: demo\nseed: 7\nsteps: 5\nlearner:\n  lr: 0.001\n"

// demoMetrics are five metrics of a step, one of them only at every second.
func demoMetrics(step int) []Metric {
	m := []Metric{
		{"critic/score/mean", 0.1 * float64(step)},
		{"actor/grad_norm", 1 / float64(step)},
		{"rollout_corr/kl", 1e-9 * float64(step)},
		{"response_length/mean", float64(1000000 * step)},
	}
	if step%2 == 0 {
		m = append(m, Metric{"val/pass", 0.5})
	}
	return m
}

// write runs steps from..to and fails the test on an error.
func write(t *testing.T, r *Run, from, to int) {
	t.Helper()
	for s := from; s <= to; s++ {
		must.Do(t, r.Step(s, demoMetrics(s)))
	}
}

// read returns a file of a run directory.
func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
}

func TestMetricsGolden(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	r := must.Get(Create(dir, []byte(demoRecipe)))(t)
	write(t, r, 1, 2)
	must.Do(t, r.Step(3, []Metric{
		{"z", math.NaN()}, {"y", math.Inf(1)}, {"x", math.Inf(-1)}, {"w", math.Copysign(0, -1)},
		{"v", 5e-324}, {"u", math.MaxFloat64}, {"t", 1 << 53}, {"s", 1e-6}, {"r", 9.9e-7}, {"q", 1e20}, {"p", 1e21},
	}))
	want := `{"step":1,"critic/score/mean":0.1,"actor/grad_norm":1,"rollout_corr/kl":1e-09,"response_length/mean":1000000}
{"step":2,"critic/score/mean":0.2,"actor/grad_norm":0.5,"rollout_corr/kl":2e-09,"response_length/mean":2000000,"val/pass":0.5}
{"step":3,"z":"nan","y":"inf","x":"-inf","w":-0,"v":5e-324,"u":1.7976931348623157e+308,"t":9007199254740992,"s":0.000001,"r":9.9e-07,"q":100000000000000000000,"p":1e+21}
`
	if got := string(read(t, dir, MetricsFile)); got != want {
		t.Errorf("metrics.jsonl:\n%s\nwant:\n%s", got, want)
	}
	if Finished(dir) {
		t.Error("finished before Finish")
	}
	must.Do(t, r.Finish(Summary{Name: "demo", Seed: 7, Steps: 3, Status: StatusStopped, Reason: "step 3: \"z\" is NaN",
		Metrics: []Metric{{"val/best", 0.5}, {"kl/max", math.Inf(1)}}}))
	wantSummary := `{"name":"demo","seed":7,"steps":3,"status":"stopped","reason":"step 3: \"z\" is NaN","metrics":{"val/best":0.5,"kl/max":"inf"}}` + "\n"
	if got := string(read(t, dir, SummaryFile)); got != wantSummary {
		t.Errorf("summary.json: %s want %s", got, wantSummary)
	}
	if !Finished(dir) {
		t.Error("not finished after Finish")
	}
	entries := must.Get(os.ReadDir(dir))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "done metrics.jsonl recipe.yaml summary.json" {
		t.Errorf("files: %s (a temporary one was left behind?)", got)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	r := must.Get(Create(dir, []byte(demoRecipe)))(t)
	write(t, r, 1, 4)
	must.Do(t, r.Step(5, []Metric{{"val/pass", math.NaN()}}))
	sum := Summary{Name: "demo", Seed: 7, Steps: 5, Status: StatusFinished, Metrics: []Metric{{"b", 2}, {"a", math.Inf(-1)}}}
	must.Do(t, r.Finish(sum))
	rec := must.Get(Load(dir))(t)
	if rec.Name != "demo" || rec.Seed != 7 || rec.Steps != 5 || string(rec.Recipe) != demoRecipe {
		t.Errorf("labels: %+v", rec)
	}
	if len(rec.Columns) != 5 || rec.Columns[1].Name != "actor/grad_norm" || rec.Columns[4].Name != "val/pass" {
		t.Errorf("columns are not in the order of appearance: %+v", rec.Columns)
	}
	c := rec.Column("val/pass")
	if len(c.Step) != 3 || c.Step[0] != 2 || c.Step[1] != 4 || c.Step[2] != 5 || c.Value[1] != 0.5 || !math.IsNaN(c.Value[2]) {
		t.Errorf("val/pass: %+v", c)
	}
	if v, ok := rec.Column("actor/grad_norm").Last(); !ok || v != 0.25 {
		t.Errorf("last grad norm %v %v", v, ok)
	}
	if _, ok := rec.Column("absent").Last(); ok {
		t.Error("an absent column has a value")
	}
	if rec.Summary == nil || rec.Summary.Metrics[0].Name != "b" || !math.IsInf(rec.Summary.Metrics[1].Value, -1) {
		t.Errorf("summary: %+v", rec.Summary)
	}
	if v, ok := rec.Summary.Metric("b"); !ok || v != 2 {
		t.Errorf("summary metric b: %v %v", v, ok)
	}
}

// TestResumeIsInvisible kills a run all over its record, resumes it from the
// checkpoints it may have had, and compares the finished file with that of a
// run without interruption. Cuts are at every seventh byte, and at all of them beside
// the ends of lines, where an error by one would show.
func TestResumeIsInvisible(t *testing.T) {
	dir := t.TempDir()
	r := must.Get(Create(dir, []byte(demoRecipe)))(t)
	write(t, r, 1, 5)
	must.Do(t, r.Close())
	whole := read(t, dir, MetricsFile)
	path := filepath.Join(dir, MetricsFile)
	for cut := 0; cut <= len(whole); cut++ {
		beside := cut < len(whole) && whole[cut] == '\n' || cut > 0 && whole[cut-1] == '\n' || cut > 1 && whole[cut-2] == '\n'
		if cut%17 != 0 && !beside {
			continue
		}
		reached := bytes.Count(whole[:cut], []byte("\n"))
		for _, last := range []int{0, 1, reached - 1, reached} {
			if last < 0 || last > reached {
				continue
			}
			must.Do(t, os.WriteFile(path, whole[:cut], 0o644))
			r, err := Resume(dir, []byte(demoRecipe), markAt(whole, last))
			if err != nil {
				t.Fatalf("cut at %d, checkpoint %d: %v", cut, last, err)
			}
			if r.last != last && (r.last != -1 || last > 0) {
				t.Fatalf("cut at %d: last step %d, want %d", cut, r.last, last)
			}
			write(t, r, last+1, 5)
			must.Do(t, r.Close())
			if got := read(t, dir, MetricsFile); !bytes.Equal(got, whole) {
				t.Fatalf("cut at %d, checkpoint %d:\n%s\nwant:\n%s", cut, last, got, whole)
			}
		}
	}
}

// markAt is the mark of a record after that many lines.
func markAt(record []byte, lines int) Mark {
	if lines == 0 {
		return Mark{}
	}
	text := bytes.Join(bytes.SplitAfter(record, []byte("\n"))[:lines], nil)
	return Mark{lines, int64(len(text)), sumOf(text)}
}

func TestResumeRefuses(t *testing.T) {
	started := func(t *testing.T, record string) string {
		dir := t.TempDir()
		r := must.Get(Create(dir, []byte(demoRecipe)))(t)
		r.Close()
		must.Do(t, os.WriteFile(filepath.Join(dir, MetricsFile), []byte(record), 0o644))
		return dir
	}
	const kept = "{\"step\":1,\"a\":0.25}\n{\"step\":2,\"a\":0.5}\n{\"step\":3,\"a\":1}\n"
	at := markAt([]byte(kept), 2)
	cases := []struct {
		name, record, recipe string
		at                   Mark
		want                 string
	}{
		{"recipe", "", strings.Replace(demoRecipe, "0.001", "0.002", 1), Mark{},
			`recipe.yaml:5: the run was started with "lr: 0.001", the recipe now says "lr: 0.002": restore that line`},
		{"longer recipe", "", demoRecipe + "kl: {}\n", Mark{}, `recipe.yaml:6: the run was started with "", the recipe now says "kl: {}"`},
		{"shorter recipe", "", strings.TrimSuffix(demoRecipe, "learner:\n  lr: 0.001\n"), Mark{}, `recipe.yaml:4: the run was started with "learner:"`},
		{"record too short", "{\"step\":1,\"a\":0.25}\n", demoRecipe, at, "metrics.jsonl: the record ends at step 1, before the checkpoint's step 2"},
		{"no record", "", demoRecipe, at, "metrics.jsonl: the record ends at step 0, before the checkpoint's step 2"},
		{"not JSON", "{\"step\":1}\n\x00\x00\x00\n", demoRecipe, at, "metrics.jsonl:2: not a step record"},
		{"backwards", "{\"step\":1}\n{\"step\":1}\n", demoRecipe, at, "metrics.jsonl:2: step 1 follows step 1"},
		{"a line lost", "{\"step\":1,\"a\":0.25}\n{\"step\":3,\"a\":1}\n", demoRecipe, at, "metrics.jsonl:2: step 3 follows step 1"},
		{"the first line lost", "{\"step\":2,\"a\":0.5}\n{\"step\":3,\"a\":1}\n", demoRecipe, at, "metrics.jsonl:1: the first step is 2"},
		{"a digit lost", strings.Replace(kept, "0.25", "0.2", 1), demoRecipe, at, "metrics.jsonl: the lines up to step 2 are not those that the run wrote"},
		{"no number", "{\"step\":true}\n", demoRecipe, at, `metrics.jsonl:1: step "true" is not a whole number`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := started(t, c.record)
			_, err := Resume(dir, []byte(c.recipe), c.at)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q\nwant %q in one line", err, c.want)
			}
			var fe *FolderError
			if !errors.As(err, &fe) {
				t.Errorf("%T is not a FolderError", err)
			}
			if got := string(read(t, dir, MetricsFile)); got != c.record {
				t.Errorf("the refused record was changed to %q", got)
			}
		})
	}
}

func TestRunStates(t *testing.T) {
	dir := t.TempDir()
	if Exists(dir) || Finished(dir) {
		t.Fatal("an empty folder holds a run")
	}
	if _, err := Resume(dir, []byte(demoRecipe), Mark{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("resume of nothing: %v", err)
	}
	r := must.Get(Create(dir, []byte(demoRecipe)))(t)
	if !Exists(dir) {
		t.Error("no run after Create")
	}
	if _, err := Create(dir, []byte(demoRecipe)); err == nil || !strings.Contains(err.Error(), "already holds a run") {
		t.Errorf("create over a run: %v", err)
	}
	write(t, r, 1, 3)
	if err := r.Step(3, nil); err == nil {
		t.Error("a step was accepted twice")
	}
	for _, bad := range [][]Metric{{{"step", 1}}, {{"", 1}}, {{"a\"b", 1}}, {{"a\nb", 1}}, {{"a", 1}, {"a", 2}}, {{"é", 1}}} {
		if err := r.Step(9, bad); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
	if err := r.Step(4, demoMetrics(4)); err != nil {
		t.Errorf("a refused step left its mark: %v", err)
	}
	must.Do(t, r.Finish(Summary{Metrics: []Metric{{"a", 1}}}))
	if _, err := Resume(dir, []byte(demoRecipe), Mark{}); err == nil || !strings.Contains(err.Error(), "finished") {
		t.Errorf("resume of a finished run: %v", err)
	}
}

// TestDiskFull uses the device that is always full.
func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	r := &Run{dir: "runs/a", file: full, sum: sha256.New(), last: -1}
	err = r.Step(1, demoMetrics(1))
	want := "runs/a/metrics.jsonl: the disk is full: free some space, or choose another folder with --out"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error("the cause is lost")
	}
	if r.last != -1 {
		t.Error("the failed step counts")
	}
}

func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must.Do(t, os.WriteFile(file, []byte("x"), 0o644))
	if _, err := Create(filepath.Join(file, "run"), nil); err == nil ||
		!strings.Contains(err.Error(), filepath.Join(file, "run")+": a part of this path is a file, not a folder: choose another") {
		t.Errorf("below a file: %v", err)
	}
	// Root may write anywhere, so the messages are also checked by cause.
	for _, c := range []struct {
		cause error
		want  string
	}{
		{syscall.EACCES, "p: permission denied: change its permissions"},
		{syscall.EROFS, "p: the file system is read-only: choose another folder with --out"},
		{syscall.ENOSPC, "p: the disk is full: free some space"},
		{syscall.EISDIR, "p: this is a folder, not a file"},
		{syscall.ENOENT, "p: no such file or folder"},
		{syscall.EIO, "p: input/output error: check the path"},
	} {
		err := folderError("p", &os.PathError{Op: "write", Path: "p", Err: c.cause})
		if !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, c.cause) {
			t.Errorf("%v: %q, want %q", c.cause, err, c.want)
		}
	}
	if os.Getuid() == 0 {
		return
	}
	dir := t.TempDir()
	must.Do(t, os.Chmod(dir, 0o500))
	if _, err := Create(filepath.Join(dir, "run"), nil); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("read-only folder: %v", err)
	}
}

// TestFinishOrder makes the summary impossible to write and expects no marker.
func TestFinishOrder(t *testing.T) {
	dir := t.TempDir()
	r := must.Get(Create(dir, []byte(demoRecipe)))(t)
	must.Do(t, os.MkdirAll(filepath.Join(dir, SummaryFile, "x"), 0o755))
	if err := r.Finish(Summary{}); err == nil {
		t.Error("Finish wrote over a folder")
	}
	if Finished(dir) {
		t.Error("finished without a summary")
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestLoadTornAndDamaged(t *testing.T) {
	dir := t.TempDir()
	r := must.Get(Create(dir, []byte(demoRecipe)))(t)
	write(t, r, 1, 2)
	r.Close()
	path := filepath.Join(dir, MetricsFile)
	whole := read(t, dir, MetricsFile)
	os.WriteFile(path, append(bytes.Clone(whole), `{"step":3,"a":`...), 0o644)
	rec, err := Load(dir)
	if err != nil || rec.Steps != 2 || rec.Summary != nil {
		t.Errorf("torn line: %v, %+v", err, rec)
	}
	os.WriteFile(path, append(bytes.Clone(whole), "{\"step\":3,\"a\":\"high\"}\n"...), 0o644)
	if _, err = Load(dir); err == nil || !strings.Contains(err.Error(), `metrics.jsonl:3: metric "a": want a number`) {
		t.Errorf("damaged line: %v", err)
	}
}

// TestDamagedRecord damages each file of a finished run in every way that leaves
// it readable: none is accepted, and the file is named.
func TestDamagedRecord(t *testing.T) {
	dir := t.TempDir()
	r := must.Get(Create(dir, []byte(demoRecipe)))(t)
	write(t, r, 1, 5)
	must.Do(t, r.Finish(Summary{Name: "demo", Seed: 7, Steps: 5, Status: StatusFinished, Metrics: []Metric{{"a", 0.25}}}))
	accepts := func() error { _, err := Load(dir); return err }
	must.Do(t, accepts())
	for _, name := range []string{RecipeFile, MetricsFile, SummaryFile, doneFile} {
		whole := read(t, dir, name)
		refused := func(what string, text []byte) {
			t.Helper()
			must.Do(t, os.WriteFile(filepath.Join(dir, name), text, 0o644))
			err := accepts()
			var fe *FolderError
			if !errors.As(err, &fe) || strings.Contains(err.Error(), "\n") || name != doneFile && !strings.Contains(err.Error(), name) {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
		for i := 0; i < len(whole); i += 7 {
			flipped := bytes.Clone(whole)
			flipped[i] ^= 1
			refused("a bit of byte "+strconv.Itoa(i), flipped)
		}
		if lines := bytes.SplitAfter(whole, []byte("\n")); name == MetricsFile {
			for i := range 5 {
				refused("line "+strconv.Itoa(i+1)+" lost", bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil))
			}
			refused("a line more", append(bytes.Clone(whole), "{\"step\":6}\n"...))
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, name), whole, 0o644))
	}
	must.Do(t, accepts())
}

// TestVacant does not begin a run over files that are there without a recipe.
func TestVacant(t *testing.T) {
	for _, name := range []string{MetricsFile, SummaryFile, CheckpointFolder + "/x"} {
		dir := t.TempDir()
		path := filepath.Join(dir, filepath.FromSlash(name))
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("mine\n"), 0o644)))
		if _, err := Create(dir, []byte(demoRecipe)); err == nil || !strings.Contains(err.Error(), "this is there already, without a recipe.yaml") {
			t.Errorf("%s: %v", name, err)
		}
		if text, err := os.ReadFile(path); string(text) != "mine\n" || Exists(dir) {
			t.Errorf("%s: now %q, %v", name, text, err)
		}
	}
}

func TestLoadAll(t *testing.T) {
	dir := t.TempDir()
	if _, err := LoadAll(dir); err == nil || !strings.Contains(err.Error(), "no run here or below") {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := LoadAll(filepath.Join(dir, "absent")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("absent folder: %v", err)
	}
	for _, name := range []string{"b/2", "a", "b/1"} {
		r := must.Get(Create(filepath.Join(dir, name), []byte(demoRecipe)))(t)
		r.Close()
	}
	all, err := LoadAll(dir)
	if err != nil || len(all) != 3 {
		t.Fatal(err, len(all))
	}
	for i, want := range []string{"a", "b/1", "b/2"} {
		if rel, _ := filepath.Rel(dir, all[i].Dir); filepath.ToSlash(rel) != want {
			t.Errorf("run %d is %s, want %s", i, rel, want)
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	r := must.Get(Create(t.TempDir(), []byte(demoRecipe)))(t)
	defer r.Close()
	metrics := demoMetrics(2)
	step := 0
	run := func() {
		step++
		must.Do(t, r.Step(step, metrics))
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations per step", n)
	}
}

func FuzzReadStep(f *testing.F) {
	f.Add([]byte(`{"step":1,"a":0.5,"b":"nan"}`))
	f.Add([]byte(`{"step":1,"a":1e999}`))
	f.Add([]byte(`{"step":01}`))
	f.Add([]byte(`{"step":1,"a":{"b":1}}`))
	f.Add([]byte(`{"step":1,"a":1,"a":2}`))
	f.Add([]byte(`{"step":9223372036854775808}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		step, metrics, err := readStep(nil, line)
		if err != nil {
			return
		}
		// What is accepted survives being written and read again, bit for bit.
		text := AppendStep(nil, step, metrics)
		step2, again, err := readStep(nil, bytes.TrimSuffix(text, []byte("\n")))
		if err != nil || step2 != step || len(again) != len(metrics) {
			t.Fatalf("%q -> %q: %v", line, text, err)
		}
		for i := range metrics {
			a, b := metrics[i], again[i]
			same := math.Float64bits(a.Value) == math.Float64bits(b.Value) || math.IsNaN(a.Value) && math.IsNaN(b.Value)
			if a.Name != b.Name || !same {
				t.Fatalf("%v became %v", a, b)
			}
		}
	})
}
