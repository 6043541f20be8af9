package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
	"driftlab/experiments/diagnose/reproduce"
	"driftlab/experiments/diagnose/tables"
	"driftlab/experiments/study"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/recipe/foreign"
)

// dumpNames are the names that files of a folder have if they are dumps.
var dumpNames = regexp.MustCompile(`(?i)\.(jsonl|ndjson|json|pkl|pt|parquet)(\.gz|\.zst)?$|^rank_[0-9]+\.bin$`)

// mayBeDump reports whether a file of a folder is taken for a dump: not a run's own record, and of .json no object,
// which is a report or a configuration.
func mayBeDump(path string) bool {
	name := filepath.Base(path)
	if !dumpNames.MatchString(name) || name == record.MetricsFile {
		return false
	}
	if !strings.EqualFold(filepath.Ext(name), ".json") {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true // the reader says why
	}
	defer f.Close()
	head, _ := io.ReadAll(io.LimitReader(f, 512))
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte{'['})
}

// dumpFiles are the files that were named, and in the place of a folder the dumps in it
// and below, with the numbers in their paths in order.
func dumpFiles(names []string) ([]string, error) {
	var list []string
	for _, name := range names {
		if info, err := os.Stat(name); name == "-" || err != nil || !info.IsDir() {
			list = append(list, name)
			continue
		}
		found, err := filesBelow(name, mayBeDump)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, bad("%s: no dump in this folder: their names end in .jsonl, .json, .pkl, .pt or .parquet, also with .gz or .zst, or are rank_{r}.bin", name)
		}
		list = append(list, found...)
	}
	return list, nil
}

// filesBelow are the files of a folder and below that are wanted, with the numbers in their paths in order; hidden ones are none.
func filesBelow(dir string, wanted func(path string) bool) (found []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err == nil && !d.IsDir() && wanted(path) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		return nil, badInput{err}
	}
	slices.SortStableFunc(found, byNumbers)
	return found, nil
}

var digits = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// byNumbers compares paths with the numbers in them as numbers: step_9 comes before step_10.
func byNumbers(a, b string) int {
	return slices.CompareFunc(digits.FindAllString(a, -1), digits.FindAllString(b, -1), func(x, y string) int {
		m, err := strconv.ParseUint(x, 10, 64)
		n, err2 := strconv.ParseUint(y, 10, 64)
		if err == nil && err2 == nil && m != n {
			return cmp.Compare(m, n)
		}
		return strings.Compare(x, y)
	})
}

// readDump hands a file, or what comes out of a pipe, to the analysis.
func readDump(a *diagnose.Analysis, name string, memory int64) error {
	if name == "-" {
		return a.Read(reader.Input{Name: "standard input", Stream: os.Stdin, MaxMemory: memory})
	}
	f, err := os.Open(name)
	if err != nil {
		return bad("%s: %v", name, errors.Unwrap(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return bad("%s: %v", name, errors.Unwrap(err))
	}
	in := reader.Input{Name: name, MaxMemory: memory, InFolder: func(other string) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(name), other))
		return err == nil
	}, Open: func(path string) (reader.ReaderAtCloser, int64, error) {
		f, err := os.Open(filepath.Join(filepath.Dir(name), path))
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return nil, 0, errors.Join(f.Close(), errors.New("no file"))
		}
		return f, info.Size(), nil
	}}
	if info.Mode().IsRegular() {
		in.At, in.Size = f, info.Size()
	} else {
		in.Stream = f
	}
	return a.Read(in)
}

// printDecision prints the row of the table that decides, and the line to paste: of the framework whose configuration
// was given, if it can say it.
func (a *app) printDecision(r diagnose.Report) {
	if n := len(r.Decisions); n > 0 {
		d := r.Decisions[n-1]
		fmt.Fprintf(a.stdout, "Decided by: %s\n", strings.TrimSuffix(d.Row+": "+d.Why, ": "))
	}
	if r.Paste == nil {
		return
	}
	if name := r.Paste.Unwritten; name != "" {
		fmt.Fprintf(a.stdout, "%s: no setting of this correction can be written.\n", name)
	}
	whose := r.Paste.Framework + "; others in --json"
	if r.Paste.Framework == "" {
		whose = "a recipe; --dialect NAME writes it for " + strings.Join(foreign.Writable(), ", ")
	}
	text, notes := "", ""
	for line := range strings.Lines(r.Paste.Text) {
		if note, ok := strings.CutPrefix(line, "# "); !ok {
			text += "  " + line
		} else if strings.Contains(note, " has no ") {
			notes += "Not in it: " + note
		} else {
			notes += "Note: " + note
		}
	}
	if text != "" {
		fmt.Fprintf(a.stdout, "Paste (%s):%s", whose, text[1:])
	}
	fmt.Fprint(a.stdout, notes)
}

// printActive prints the configured correction, what is wrong with it, and where the recommended one differs.
func (a *app) printActive(r diagnose.Report) {
	on := r.Active
	if on == nil {
		return
	}
	fmt.Fprintf(a.stdout, "Correction of %s: %s\n", on.Framework, on.Why)
	t := tables.Settings(on)
	if len(t.Rows) == 0 {
		return
	}
	a.printTable(t)
	for _, s := range on.Settings {
		if s.Why != "" {
			fmt.Fprintf(a.stdout, "%s: %s\n", s.Name, s.Why)
		}
	}
}

const toyFile = "reproduce.yaml"

// reproduce looks for a toy run with a gap of the same cause and size, and writes its recipe.
func (c *diagnoseCmd) reproduce(a *app, r *diagnose.Report) error {
	cause, err := causeOf(r)
	if err != nil {
		return err
	}
	m := a.meter(c.Quiet, "reproduce "+cause, "level", 0)
	advance := m.queue()
	toy, err := reproduce.Search(a.ctx, reproduce.Request{Cause: cause, Size: r.Gap.MeanAbsDlogp, K3: r.Gap.K3, Workers: c.workers(), Progress: func(done, of int) {
		advance(study.Progress{Done: done, Total: of, Tasks: of, Ended: done})
	}})
	m.close()
	if err != nil {
		return err
	}
	path := filepath.Join(c.Out, toyFile)
	if err := writeFile(filepath.Dir(path), toyFile, toy.Recipe.YAML()); err != nil {
		return err
	}
	r.Reproduced = &diagnose.Reproduced{Recipe: path, Cause: toy.Cause, Level: toy.Level, MeanAbsDlogp: toy.Size, K3: toy.K3, Factor: toy.Factor}
	return nil
}

// causeOf is what is to be reproduced: the likeliest cause, or the fault of the sampling distribution.
func causeOf(r *diagnose.Report) (string, error) {
	switch {
	case r.Gap == nil || r.Gap.MeanAbsDlogp == 0:
		return "", bad("--reproduce: there is no mismatch to reproduce")
	case r.Verdict.State == diagnose.Repair:
		for _, k := range r.Checks {
			if k.Result == diagnose.Fail && (k.ID == "support" || k.ID == "temperature") {
				return k.ID, nil
			}
		}
		return "", bad("--reproduce: the dump has a bookkeeping error, which no run reproduces: repair the data")
	}
	for _, cause := range r.Verdict.Causes {
		if slices.Contains(reproduce.Causes(), cause) {
			return cause, nil
		}
	}
	return "precision", nil // the one that every pair of engines has
}

func (a *app) printReproduced(r diagnose.Report) {
	p := r.Reproduced
	if p == nil {
		return
	}
	n := figure.FormatNumber
	result := "Reproduced"
	if !p.Met() {
		result = fmt.Sprintf("Not reproduced (off by a factor of %s; the nearest level of the toy model)", n(p.Factor, 2))
	}
	fmt.Fprintf(a.stdout, "%s: %s, by %s: mean |d| %s, k3 %s (the dump: %s, %s); simulate train %s\n",
		result, p.Cause, p.Level, n(p.MeanAbsDlogp, 2), n(p.K3, 2), n(r.Gap.MeanAbsDlogp, 2), n(r.Gap.K3, 2), p.Recipe)
}
