package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/lab"
)

// TestLabHandler: the page is served to this machine's own names and to no other, and
// nothing but its files.
func TestLabHandler(t *testing.T) {
	h := labHandler([]lab.File{{Name: "index.html", Data: []byte("<p>lesson")}, {Name: "program.js", Data: []byte("x()")}}, 4321)
	for _, c := range []struct {
		method, host, path string
		status             int
		kind               string
	}{
		{"GET", "127.0.0.1:4321", "/", 200, "text/html; charset=utf-8"},
		{"GET", "localhost:4321", "/index.html", 200, "text/html; charset=utf-8"},
		{"GET", "LOCALHOST:4321", "/", 200, "text/html; charset=utf-8"},
		{"GET", "localhost.evil.example:4321", "/", 403, ""},
		{"HEAD", "localhost:4321", "/program.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "evil.example:4321", "/", 403, ""},
		{"GET", "127.0.0.1:4322", "/", 403, ""},
		{"GET", "localhost", "/", 403, ""},
		{"POST", "127.0.0.1:4321", "/", 405, ""},
		{"GET", "127.0.0.1:4321", "/../go.mod", 404, ""},
		{"GET", "127.0.0.1:4321", "/program.js/", 404, ""},
	} {
		r := httptest.NewRequest(c.method, "http://"+c.host+"/", nil)
		r.URL.Path = c.path
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || c.kind != "" && w.Header().Get("Content-Type") != c.kind || w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s http://%s%s: status %d, headers %v", c.method, c.host, c.path, w.Code, w.Header())
		}
		if strings.Contains(w.Body.String(), "lesson") != (c.status == http.StatusOK && c.path != "/program.js") {
			t.Errorf("%s http://%s%s: %q", c.method, c.host, c.path, w.Body)
		}
	}
}

// TestLabWithoutProgram: where there is neither a program nor a checkout, one line says so.
func TestLabWithoutProgram(t *testing.T) {
	t.Chdir(t.TempDir())
	var stdout, stderr strings.Builder
	if status := run([]string{"lab", "--export", "x.html"}, &stdout, &stderr); status != statusBadInput || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "checkout") {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}

// TestThisMachine: port 80 needs not be named.
func TestThisMachine(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "Localhost:80": true, "127.0.0.1": true, "localhost:81": false, "example.com": false, "": false} {
		if got := thisMachine(host, 80); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

// TestExportKeepsForeignFiles: what the lab has not written is not overwritten, what it has
// written is.
func TestExportKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir()) // no checkout: a permitted export ends with that
	try := func(flag, path, file, text string) string {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o666))
		defer os.Remove(filepath.Join(dir, file))
		var stdout, stderr strings.Builder
		if status := run([]string{"lab", flag, filepath.Join(dir, path)}, &stdout, &stderr); status != statusBadInput {
			t.Errorf("%s %s: status %d, %q", flag, path, status, stderr.String())
		}
		if kept, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(kept) != text {
			t.Errorf("%s: %q, %v", file, kept, err)
		}
		return stderr.String()
	}
	own := "<!DOCTYPE html>\n<title>The lab of driftlab</title>"
	for _, c := range []struct {
		flag, path, file, text string
		refused                bool
	}{
		{"--export", "mine.html", "mine.html", "<title>My thesis</title>", true},
		{"--export", "mine.html", "mine.html", own, false},
		{"--export", ".", "index.html", "home", true},
		{"--export", ".", "index.html", own, false},
		{"--export", ".", "answers.html", "exam", true},
		{"--export", ".", "answers.html", "<title>The lab: answers</title>", false},
		{"--export", ".", "notes.txt", "mine", false},
		{"--program", ".", "wasm_exec.js", "x()", true},
		{"--program", ".", "wasm_exec.js", "globalThis.Go = class {}", false},
		{"--program", ".", "lab.wasm.gz", "not packed", true},
	} {
		said := try(c.flag, c.path, c.file, c.text)
		if strings.Contains(said, "not of the lab or the site") != c.refused || strings.Count(said, "\n") != 1 {
			t.Errorf("%s %s over %q: %q", c.flag, c.file, c.text, said)
		}
	}
}
