package results

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a run directory.
const (
	RecipeFile       = "recipe.yaml"
	MetricsFile      = "metrics.jsonl"
	SummaryFile      = "summary.json"
	StateFile        = "state.safetensors" // what an interrupted run resumes from; written by the trainer
	CheckpointFolder = "checkpoint"        // the final weights; written by the trainer
	ReportFile       = "report.html"
	doneFile         = "done"
	plotFolder       = "plots"
)

// runFiles is all that a run directory holds.
var runFiles = []string{RecipeFile, MetricsFile, SummaryFile, StateFile, CheckpointFolder, ReportFile, doneFile, plotFolder, lockFile}

// Run writes one run directory. It is not safe for concurrent use.
type Run struct {
	dir   string
	file  *os.File
	size  int64    // bytes of complete lines in metrics.jsonl
	last  int      // last step written, -1 before the first
	buf   []byte   // one line, reused
	names []string // the names checked last, reused
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
// a run yet. The recipe is the resolved one, as text. Errors name the path and
// the remedy in one line (FolderError).
func Create(dir string, recipe []byte) (*Run, error) {
	if Exists(dir) {
		return nil, &FolderError{Path: dir, Problem: "this folder already holds a run",
			Remedy: "resume it, remove it, or choose another folder with --out"}
	}
	if err := makeFolder(dir); err != nil {
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
	return &Run{dir: dir, file: f, last: -1}, nil
}

// Resume takes up an unfinished run. The record is cut back to the lines of
// steps up to last, the step of the checkpoint the caller restarts from (-1
// when there is none), and a line torn by a kill is dropped; what follows then
// continues the file as if nothing had happened. A recipe that differs from
// the one the run was started with is an error that names the first differing
// line, and so is a record that ends before last.
func Resume(dir string, recipe []byte, last int) (*Run, error) {
	if Finished(dir) {
		return nil, &FolderError{Path: dir, Problem: "this run is finished",
			Remedy: "read it, or choose another folder with --out"}
	}
	recipePath := filepath.Join(dir, RecipeFile)
	started, err := os.ReadFile(recipePath)
	if err != nil {
		return nil, folderError(recipePath, err)
	}
	if err := sameRecipe(recipePath, started, recipe); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, MetricsFile)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, folderError(path, err)
	}
	size, reached, err := keepUpTo(path, data, last)
	if err != nil {
		return nil, err
	}
	if last >= 0 && reached != last {
		return nil, &FolderError{Path: path,
			Problem: fmt.Sprintf("the record ends at step %d, before the checkpoint's step %d", reached, last),
			Remedy:  "remove the folder to start again"}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, folderError(path, err)
	}
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, folderError(path, err)
	}
	return &Run{dir: dir, file: f, size: size, last: reached}, nil
}

// keepUpTo returns the length of the complete lines of steps up to last, and
// the last step among them (-1 for none).
func keepUpTo(path string, data []byte, last int) (size int64, reached int, err error) {
	reached = -1
	err = eachLine(path, data, func(line []byte, end int64) (bool, error) {
		step, err := stepOf(line)
		if err != nil {
			return false, err
		}
		if step > last {
			return false, nil
		}
		if step <= reached {
			return false, fmt.Errorf("step %d follows step %d", step, reached)
		}
		size, reached = end, step
		return true, nil
	})
	return size, reached, err
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
		Remedy:  "restore that line, or choose another folder with --out"}
}

// Dir returns the run directory.
func (r *Run) Dir() string { return r.dir }

// LastStep returns the last step on record, -1 before the first.
func (r *Run) LastStep() int { return r.last }

// Step appends one line: the step, then the metrics in the caller's order.
// Steps must increase. The line reaches the operating system before Step
// returns; a write that fails half way is taken back. It allocates nothing
// once its buffers have grown.
func (r *Run) Step(step int, metrics []Metric) error {
	if step <= r.last {
		return fmt.Errorf("results: step %d after step %d: steps must increase", step, r.last)
	}
	if !r.sameNames(metrics) {
		if err := checkNames(metrics); err != nil {
			return err
		}
		r.names = r.names[:0]
		for i := range metrics {
			r.names = append(r.names, metrics[i].Name)
		}
	}
	r.buf = appendStep(r.buf[:0], step, metrics)
	if _, err := r.file.Write(r.buf); err != nil {
		// Best effort: Resume would drop the torn line as well.
		_ = r.file.Truncate(r.size)
		return folderError(filepath.Join(r.dir, MetricsFile), err)
	}
	r.size += int64(len(r.buf))
	r.last = step
	return nil
}

// sameNames reports whether the names are those checked last.
func (r *Run) sameNames(metrics []Metric) bool {
	if len(metrics) != len(r.names) {
		return false
	}
	for i := range metrics {
		if metrics[i].Name != r.names[i] {
			return false
		}
	}
	return true
}

// Sync forces the record to the disk. Call it before writing a checkpoint, so
// that a power cut cannot leave a checkpoint ahead of its record.
func (r *Run) Sync() error {
	return folderError(filepath.Join(r.dir, MetricsFile), r.file.Sync())
}

// Close leaves the run unfinished; Resume can take it up.
func (r *Run) Close() error {
	return folderError(filepath.Join(r.dir, MetricsFile), r.file.Close())
}

// Finish closes the record, writes summary.json and then the marker that
// Finished looks for. Each appears whole or not at all, in that order.
func (r *Run) Finish(summary Summary) error {
	if err := r.Sync(); err != nil {
		r.file.Close()
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	text, err := summary.MarshalJSON()
	if err != nil {
		return err
	}
	if err := writeAtomic(filepath.Join(r.dir, SummaryFile), append(text, '\n')); err != nil {
		return err
	}
	return writeAtomic(filepath.Join(r.dir, doneFile), nil)
}
