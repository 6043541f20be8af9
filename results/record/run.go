package record

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The files of a run directory.
const (
	RecipeFile       = "recipe.yaml"
	MetricsFile      = "metrics.jsonl"
	SummaryFile      = "summary.json"
	ClockFile        = "clock.json"        // where a schedule runs on a virtual clock
	StateFile        = "state.safetensors" // what an interrupted run resumes from; written by the trainer
	CheckpointFolder = "checkpoint"        // the final weights; written by the trainer
	ReportFile       = "report.html"
	doneFile         = "done"
	plotFolder       = "plots"
)

// ScoredFile holds the log-probs that another engine gave the responses of a run, a line for
// every step; a run whose rollout engine gave them has none.
const ScoredFile = "scored.jsonl"

var runFiles = []string{RecipeFile, MetricsFile, SummaryFile, ClockFile, StateFile, CheckpointFolder, ReportFile, doneFile, plotFolder, LockFile, dumpClaimFile, ScoredFile}

// Run writes one run directory. It is not safe for concurrent use.
type Run struct {
	dir    string
	file   *os.File
	recipe string    // its SHA-256
	size   int64     // bytes of complete lines in metrics.jsonl
	sum    hash.Hash // and their SHA-256
	last   int       // last step written, -1 before the first
	buf    []byte    // one line, reused
	names  []string  // the names checked last, reused
}

// Exists reports whether dir holds a run, finished or not.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, RecipeFile))
	return err == nil
}

// Finished reports whether the run in dir has ended and its summary is whole.
func Finished(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, doneFile))
	return err == nil
}

// Create starts a run in dir, which is made with its parents and must not hold
// a run yet, nor files that the run would write over. The recipe is the resolved one, as text. Errors name the path and
// the fix in one line (FolderError).
func Create(dir string, recipe []byte) (*Run, error) {
	if Exists(dir) {
		return nil, &FolderError{Path: dir, Problem: "this folder already holds a run",
			Fix: "resume it, remove it, or choose another folder with --out"}
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	if err := Vacant(dir); err != nil {
		return nil, err
	}
	if err := writeAtomic(filepath.Join(dir, RecipeFile), recipe); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, MetricsFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, folderError(path, err)
	}
	return &Run{dir: dir, file: f, recipe: sumOf(recipe), sum: sha256.New(), last: -1}, nil
}

// Vacant returns an error for a file of a run that is there without a recipe: it
// belongs to somebody else, or to a run that has lost it.
func Vacant(dir string) error {
	for _, name := range []string{MetricsFile, SummaryFile, CheckpointFolder} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err == nil && (info.Size() > 0 || info.IsDir()) {
			return &FolderError{Path: filepath.Join(dir, name), Problem: "this is there already, without a " + RecipeFile + " of its run",
				Fix: "move it away, or choose another folder with --out"}
		}
	}
	return nil
}

// Resume takes up an unfinished run at a mark, which the caller kept with the
// state that it restarts from. Lines after it are dropped; what follows
// continues the file as if nothing had happened. A record that is not what it
// was at the mark is an error that says where, and so is a recipe that differs
// from the one the run was started with.
func Resume(dir string, recipe []byte, at Mark) (*Run, error) {
	if Finished(dir) {
		return nil, &FolderError{Path: dir, Problem: "this run is finished",
			Fix: "read it, or choose another folder with --out"}
	}
	recipePath := filepath.Join(dir, RecipeFile)
	started, err := ReadFile(recipePath)
	if err != nil {
		return nil, folderError(recipePath, err)
	}
	if err := sameRecipe(recipePath, started, recipe); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, MetricsFile)
	data, err := ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, folderError(path, err)
	}
	if err := at.check(path, data); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, folderError(path, err)
	}
	if err := f.Truncate(at.Bytes); err != nil {
		f.Close()
		return nil, folderError(path, err)
	}
	r := &Run{dir: dir, file: f, recipe: sumOf(recipe), size: at.Bytes, sum: sha256.New(), last: at.Step}
	if at.Bytes == 0 {
		r.last = -1
	}
	r.sum.Write(data[:at.Bytes])
	return r, nil
}

// sameRecipe returns an error that names the first line where the recipe of
// the run and the one asked for differ.
func sameRecipe(path string, started, asked []byte) error {
	if bytes.Equal(started, asked) {
		return nil
	}
	was, now := bytes.Split(started, []byte("\n")), bytes.Split(asked, []byte("\n"))
	i := 0
	for i < len(was) && i < len(now) && bytes.Equal(was[i], now[i]) {
		i++
	}
	show := func(lines [][]byte) string {
		if i < len(lines) {
			return fmt.Sprintf("%q", bytes.TrimSpace(lines[i]))
		}
		return "nothing more"
	}
	return &FolderError{Path: fmt.Sprintf("%s:%d", path, i+1),
		Problem: fmt.Sprintf("the run was started with %s, the recipe now says %s", show(was), show(now)),
		Fix:     "restore that line, or choose another folder with --out"}
}

// Dir returns the run directory.
func (r *Run) Dir() string { return r.dir }

// Step appends one line: the step, then the metrics in the caller's order.
// Steps follow one another from 0 or 1. The line reaches the operating system before Step
// returns; a write that fails half way is taken back. It allocates nothing
// once its buffers have grown.
func (r *Run) Step(step int, metrics []Metric) error {
	if !follows(step, r.last) {
		return fmt.Errorf("record: step %d after step %d: steps must follow one another", step, r.last)
	}
	if !slices.EqualFunc(metrics, r.names, func(m Metric, name string) bool { return m.Name == name }) {
		if err := checkNames(metrics); err != nil {
			return err
		}
		r.names = r.names[:0]
		for i := range metrics {
			r.names = append(r.names, metrics[i].Name)
		}
	}
	r.buf = AppendStep(r.buf[:0], step, metrics)
	if _, err := r.file.Write(r.buf); err != nil {
		// Best effort: Resume would drop the torn line as well.
		_ = r.file.Truncate(r.size)
		return folderError(filepath.Join(r.dir, MetricsFile), err)
	}
	r.sum.Write(r.buf)
	r.size += int64(len(r.buf))
	r.last = step
	return nil
}

// Mark forces the record to the disk and says how far it has come, so that a
// power cut cannot leave a state ahead of its record.
func (r *Run) Mark() (Mark, error) {
	if err := r.file.Sync(); err != nil {
		return Mark{}, folderError(filepath.Join(r.dir, MetricsFile), err)
	}
	return Mark{r.last, r.size, fmt.Sprintf("%x", r.sum.Sum(nil))}, nil
}

// Close leaves the run unfinished; Resume can take it up.
func (r *Run) Close() error {
	return folderError(filepath.Join(r.dir, MetricsFile), r.file.Close())
}

// Finish closes the record, which has its clock's file by then, writes summary.json and then the seal that Finished
// looks for. Each appears whole or not at all, in that order.
func (r *Run) Finish(summary Summary) error {
	record, err := r.Mark()
	if err != nil {
		r.file.Close()
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	text, err := jsonLine(summary)
	if err != nil {
		return err
	}
	if err := writeAtomic(filepath.Join(r.dir, SummaryFile), text); err != nil {
		return err
	}
	_, clock, err := readClock(r.dir)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(r.dir, doneFile), seal(r.recipe, record.SHA256, sumOf(text), clock))
}
