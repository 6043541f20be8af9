package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/stability"
)

// TestWatchAppended: each look reads what was appended since the last, complete lines alone; a file that was begun anew is read anew, and the
// run's summary ends the watch.
func TestWatchAppended(t *testing.T) {
	dir := t.TempDir()
	rates := stability.PublishedAlarms()
	var out, complaints strings.Builder
	w := &watcher{app: &app{stdout: &out, stderr: &complaints}, rates: rates, files: map[string]*watched{}}
	path := filepath.Join(dir, "run", "metrics.jsonl")
	lines := func(from, to int, k3 float64) (text string) {
		for n := from; n <= to; n++ {
			text += fmt.Sprintf(`{"step":%d,"gap/k3":%g,"note":"x"}`+"\n", n, k3)
		}
		return text
	}
	look := func(text, want string, ends bool) {
		t.Helper()
		out.Reset()
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			f := must.Get(os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666))(t)
			io.WriteString(f, text)
			f.Close()
		}
		ended, err := w.look(dir, false)
		if err != nil || ended != ends || !strings.HasPrefix(out.String(), want) || want == "" && out.Len() > 0 || complaints.Len() > 0 {
			t.Errorf("after %q: ended %v, %v, %q, complaints %q; want %q", text, ended, err, out.String(), complaints.String(), want)
		}
	}
	look(lines(0, 30, 1e-4)+`{"step":31,"gap`, "", false)
	if read := w.files[path].read; read != int64(len(lines(0, 30, 1e-4))) {
		t.Errorf("%d bytes were read, not the complete lines", read)
	}
	look(`/k3":0.01}`+"\n"+lines(32, 40, 0.01), "", false)
	look(lines(41, 41, 0.01), "update 40: k3 above 0.001 (now 0.010", false)
	look(lines(42, 60, 0.01), "", false)
	must.Do(t, os.Truncate(path, 0))
	look(lines(1, 30, 0.01), "", false)
	must.Do(t, os.WriteFile(filepath.Join(dir, "run", "summary.json"), []byte("{}"), 0o666))
	look("", "update 30: k3 above 0.001", true)
	out.Reset()
	w.conclude(dir)
	if !strings.HasPrefix(out.String(), "Finding: 3 alarms, the first at update 40 in 60 updates.\nNext: simulate report ") {
		t.Errorf("%q", out.String())
	}
}

// TestWatchOnce: a dump, metrics as verl writes them, an empty folder and none.
func TestWatchOnce(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		file, text string
		status     int
		want       string
	}{
		"dump": {"dump.jsonl", strings.Repeat(`{"logp_rollout":[-0.5,-1.5,-0.25],"logp_old":[-1.5,-0.5,-1.0],"group":0,"reward":1}`+"\n", 300), 0, "dump 1: "},
		"verl": {"metrics.jsonl", func() (text string) {
			for n := range 41 {
				text += fmt.Sprintf(`{"step":%d,"data":{"rollout_corr/chi2_token":1.5}}`+"\n", n)
			}
			return text
		}(), 0, "update 30: token chi² above 1 (now 1.5"},
		"sweep":   {"plan.yaml", "name: x", statusBadInput, "sweep: a sweep's folder: simulate sweep report "},
		"no rows": {"runs.jsonl", `{"run":"x","reward":1}` + "\n", statusBadInput, "neither metrics.jsonl nor a dump"},
		"nothing": {"notes.txt", "x", statusBadInput, "neither metrics.jsonl nor a dump"},
		"damaged": {"metrics.jsonl", "no JSON\n" + `{"step":7}` + "\n", 0, "not a line of metrics: \"no JSON\\n\"\nFinding: no alarm in 7 updates."},
	} {
		at := filepath.Join(dir, name)
		must.Do(t, os.Mkdir(at, 0o777))
		must.Do(t, os.WriteFile(filepath.Join(at, c.file), []byte(c.text), 0o666))
		var both strings.Builder
		if status := run([]string{"watch", at, "--once"}, &both, &both); status != c.status || !strings.Contains(both.String(), c.want) {
			t.Errorf("%s: status %d, %q", name, status, both.String())
		}
	}
	var both strings.Builder
	if status := run([]string{"watch", filepath.Join(dir, "none")}, &both, &both); status != statusBadInput || strings.Count(both.String(), "\n") != 1 {
		t.Errorf("a folder that is not there: status %d, %q", status, both.String())
	}
}
