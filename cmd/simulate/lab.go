package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"driftlab/cmd/simulate/program"
	"driftlab/experiments/study"
	"driftlab/results"
	"driftlab/results/lab"
	"driftlab/results/lab/sheet"
	"driftlab/results/published"
	"driftlab/results/record"
	"driftlab/results/stability"
	"driftlab/results/stats"
)

type labCmd struct {
	Export  string `overrides:"--port" help:"Write the page and do not serve it: a folder for a static host or, with a name that ends in .html, one file that opens by double-click." placeholder:"DIR|FILE.html" complete:"files"`
	Dumps   string `overrides:"--export --port" help:"Write only the page that diagnoses dumps of real runs, as one file." placeholder:"FILE.html" complete:"files"`
	Port    int    `help:"Port on the loopback interface; 0 takes a free one." default:"0"`
	Program string `overrides:"--export --dumps --port" help:"Write only what the pages compute with, for a release, into a folder." placeholder:"DIR" complete:"files"`
	Quiet   bool   `short:"q" help:"No progress messages."`
}

// Run serves or exports the page.
func (c *labCmd) Run(a *app) error {
	if c.Dumps != "" && !strings.HasSuffix(c.Dumps, ".html") {
		return bad("--dumps %s: give the name of a file that ends in .html", c.Dumps)
	}
	if err := c.foreign(); err != nil { // before anything is compiled
		return err
	}
	computes, which, err := labParts(a, c.Quiet)
	if err != nil {
		return err
	}
	page := cmp.Or(c.Dumps, c.Export)
	switch {
	case c.Program != "":
		return writeFiles(c.Program, program.Files(computes))
	case c.Dumps != "":
		err = record.WriteNew(c.Dumps, lab.Diagnose(computes, ""))
	case strings.HasSuffix(c.Export, ".html"):
		err = record.WriteNew(c.Export, lab.OneFile(computes, which))
	default:
		files := labFiles(computes, which, lab.HomePage)
		if c.Export == "" {
			return a.serveLab(files, c.Port)
		}
		page, err = filepath.Join(c.Export, lab.HomePage), writeFiles(c.Export, files)
	}
	if err == nil {
		fmt.Fprintf(a.stdout, "Page: %s\n", page)
	}
	return err
}

// foreign refuses to overwrite what no export of the lab has written.
func (c *labCmd) foreign() error {
	var paths []string
	switch dir := c.Export; {
	case c.Program != "":
		paths = []string{filepath.Join(c.Program, program.LessonsFile), filepath.Join(c.Program, program.DiagnoseFile), filepath.Join(c.Program, program.SupportFile)}
	case c.Dumps != "", strings.HasSuffix(dir, ".html"):
		paths = []string{cmp.Or(c.Dumps, dir)}
	case dir != "":
		paths = []string{filepath.Join(dir, "index.html"), filepath.Join(dir, lab.DiagnosePage)}
		paths = append(paths, stats.Map(sheet.Names, func(name string) string { return filepath.Join(dir, name) })...)
	}
	return ownFiles(paths)
}

// ownFiles refuses to overwrite what neither the lab nor the site has written.
func ownFiles(paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			return bad("%s is a folder: give another name", path)
		}
		if err == nil && !writtenByLab(path) {
			return bad("%s exists and is not of the lab or the site: move it away, or give another name", path)
		}
	}
	return nil
}

// writtenByLab reports whether a file begins as one of an export does.
func writtenByLab(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var in io.Reader = f
	marks := []string{"<title>The lab of driftlab</title>", "<title>The lab: ", siteMark}
	switch filepath.Base(path) {
	case program.LessonsFile, program.DiagnoseFile:
		marks = []string{"\x00asm"}
		if in, err = gzip.NewReader(f); err != nil {
			return false
		}
	case program.SupportFile:
		marks = []string{"globalThis.Go"}
	}
	head, _ := io.ReadAll(io.LimitReader(in, 64<<10)) // what cannot be read has no mark
	return slices.ContainsFunc(marks, func(mark string) bool { return bytes.Contains(head, []byte(mark)) })
}

// mapPart is the map of stability as a tab of the lab.
func mapPart() results.Part {
	m := stability.Published()
	blocks := []results.Block{mapPicture("picture", "all problems")}
	for _, p := range stability.Problems {
		if answer, ok := m.Answer(p.Name); ok {
			blocks = append(blocks, results.Prose("**"+answer.Title+".** "+answer.Text))
		}
	}
	tables := stats.Map(m.Studies, func(s stability.Study) results.Block { return study.MapTables(&s)[0] })
	return results.Part{HTML: results.HTMLOf(append(blocks, tables...)...)}
}

// mapPicture is a picture of the map: as an image, since the lab's policy allows no styles in markup, which an SVG of its own has.
func mapPicture(name, of string) results.Picture {
	return results.Picture{SVG: published.File(published.StabilityPicture(name)), Alt: "Pass rate at the end against the learning rate by correction: " + of}
}

// labFiles are the page under a name, the page of dumps, the program and the sheets to print.
func labFiles(p lab.Program, which results.Part, name string) []lab.File {
	files, sheets := lab.Site(p, which, name), sheet.Files(lab.Load())
	return append(files, stats.Map(sheet.Names, func(name string) lab.File { return lab.File{Name: name, Data: sheets[name]} })...)
}

// writeFiles fills a folder, which it makes where there is none. A page's program takes the place of older ones, which no page asks for any more.
func writeFiles(dir string, files []lab.File) error {
	pattern := "program-" + strings.Repeat("[0-9a-f]", 12) + ".js" // which is valid
	var old []string
	if slices.ContainsFunc(files, func(f lab.File) bool { is, _ := filepath.Match(pattern, f.Name); return is }) {
		old, _ = filepath.Glob(filepath.Join(dir, pattern))
	}
	for _, f := range files {
		if err := writeFile(dir, f.Name, f.Data); err != nil {
			return err
		}
		old = slices.DeleteFunc(old, func(path string) bool { return filepath.Base(path) == f.Name })
	}
	for _, path := range old {
		os.Remove(path)
	}
	return nil
}

// serveLab serves the page to this machine until a signal comes.
func (a *app) serveLab(files []lab.File, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return bad("port %d: %w: take another with --port", port, err)
	}
	end := a.signals.begin()
	defer end()
	server := &http.Server{Handler: labHandler(files, listener.Addr().(*net.TCPAddr).Port), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-a.ctx.Done()
		server.Shutdown(context.WithoutCancel(a.ctx))
	}()
	fmt.Fprintf(a.stdout, "Lab: http://%s/ (Ctrl-C ends it)\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// labHandler answers requests for the files, and only those that were addressed to this
// machine: a page of somebody else's that resolves its own name to it is refused.
func labHandler(files []lab.File, port int) http.Handler {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	kinds := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Content-Security-Policy", "frame-ancestors 'none'")
		header.Set("Cache-Control", "no-cache")
		if !thisMachine(r.Host, port) {
			http.Error(w, "this lab serves "+address+" only", http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "GET only", http.StatusMethodNotAllowed)
			return
		}
		name := cmp.Or(strings.TrimPrefix(r.URL.Path, "/"), "index.html")
		i := slices.IndexFunc(files, func(f lab.File) bool { return f.Name == name })
		if i < 0 {
			http.NotFound(w, r)
			return
		}
		header.Set("Content-Type", kinds[path.Ext(name)])
		header.Set("Content-Length", strconv.Itoa(len(files[i].Data)))
		w.Write(files[i].Data)
	})
}

// thisMachine reports whether a Host header names the loopback interface and the port; a
// browser leaves out port 80, and a name's case does not matter.
func thisMachine(host string, port int) bool {
	name, number, err := net.SplitHostPort(host)
	if err != nil {
		name, number = host, "80"
	}
	return number == strconv.Itoa(port) && (name == "127.0.0.1" || strings.EqualFold(name, "localhost"))
}
