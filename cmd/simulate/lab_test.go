package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
