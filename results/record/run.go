package record

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
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
}

// Exists reports whether dir holds a run, finished or not.
func Exists(dir string) bool { return holds(dir, RecipeFile) }

// Finished reports whether the run in dir has ended and its summary is whole.
func Finished(dir string) bool { return holds(dir, doneFile) }

func holds(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
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
// continues the file as if nothing had happened. A record that differs from its
// state at the mark is an error that says where, and so is a recipe that differs
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
	if err := checkNames(metrics); err != nil {
		return err
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
	_, clock, err := readOptional[Clock](r.dir, ClockFile)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(r.dir, doneFile), seal(r.recipe, record.SHA256, sumOf(text), clock))
}

// eachStep calls visit for every complete line of a record until it returns
// false. Steps follow one another from 0, the evaluation before the first
// update, or 1; a line that is missing is an error at the next one. Bytes after the
// last newline are a line that a killed process was still writing: they are left out.
func eachStep(path string, data []byte, visit func(step int, metrics []Metric) bool) error {
	var metrics []Metric
	last, n := -1, 0
	for line := range bytes.Lines(data) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			break
		}
		n++
		step, row, err := readStep(metrics[:0], line)
		switch {
		case err != nil || follows(step, last):
		case last < 0:
			err = fmt.Errorf("the first step is %d", step)
		default:
			err = fmt.Errorf("step %d follows step %d", step, last)
		}
		if err != nil {
			return &FolderError{Path: fmt.Sprintf("%s:%d", path, n), Problem: err.Error(),
				Fix: "the record is damaged: remove the folder and run again", Err: err}
		}
		if metrics, last = row, step; !visit(step, row) {
			break
		}
	}
	return nil
}

// readStep reads one line: its step and its metrics, in order, appended to dst.
func readStep(dst []Metric, line []byte) (int, []Metric, error) {
	rest, headed := bytes.CutPrefix(line, []byte(`{"step":`))
	end := bytes.IndexAny(rest, ",}")
	if !headed || end < 0 || !json.Valid(line) {
		return 0, dst, errors.New("not a step record")
	}
	step, err := strconv.Atoi(string(rest[:end]))
	if err != nil || step < 0 {
		return 0, dst, fmt.Errorf("step %q is not a whole number", rest[:end])
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	for range 3 { // the opening brace, "step" and its value
		dec.Token()
	}
	first := len(dst)
	if dst, err = readMetrics(dst, dec); err == nil {
		err = checkNames(dst[first:])
	}
	return step, dst, err
}

// readMetrics reads the rest of an object whose opening brace dec has passed:
// name, value, ... up to the closing brace, in order.
func readMetrics(dst []Metric, dec *json.Decoder) ([]Metric, error) {
	for {
		key, err := dec.Token()
		if err == io.EOF {
			return dst, fmt.Errorf("the object is not closed")
		}
		if err != nil {
			return dst, err
		}
		if key == json.Delim('}') {
			return dst, nil
		}
		name := key.(string) // a key is a string: the decoder has checked it
		var value Number
		if err := dec.Decode(&value); err != nil {
			return dst, fmt.Errorf("metric %q: %v", name, err)
		}
		dst = append(dst, Metric{name, float64(value)})
	}
}

// Mark is how far a record had come: the last step, and the length and SHA-256
// of metrics.jsonl up to there. The zero Mark is the mark of an empty record.
type Mark struct {
	Step   int    `json:"step"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// check returns an error that says where the record differs from its state at the mark.
func (m Mark) check(path string, data []byte) error {
	if m == (Mark{}) || m.Bytes <= int64(len(data)) && sumOf(data[:m.Bytes]) == m.SHA256 {
		return nil
	}
	reached := 0
	err := eachStep(path, data, func(step int, _ []Metric) bool {
		reached = step
		return step < m.Step
	})
	if err != nil {
		return err
	}
	damaged := &FolderError{Path: path, Fix: "remove the folder to start again",
		Problem: fmt.Sprintf("the lines up to step %d are not those that the run wrote: figures or names were changed", m.Step)}
	if reached < m.Step {
		damaged.Problem = fmt.Sprintf("the record ends at step %d, before the checkpoint's step %d", reached, m.Step)
	}
	return damaged
}

// follows reports whether a step may come after the last, -1 for none.
func follows(step, last int) bool { return step == last+1 || last < 0 && step == 1 }

// sumOf is the SHA-256 of a text, in hexadecimal digits.
func sumOf(text []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// seal is the text of the file that ends a run: the sums of what it leaves, as
// sha256sum writes and checks them.
func seal(recipe, metrics, summary string, clock []byte) []byte {
	text := fmt.Appendf(nil, "%s  %s\n%s  %s\n%s  %s\n", recipe, RecipeFile, metrics, MetricsFile, summary, SummaryFile)
	if clock != nil {
		text = fmt.Appendf(text, "%s  %s\n", sumOf(clock), ClockFile)
	}
	return text
}

// checkSeal holds the files of a finished run against its seal. A run of an
// early version has an empty one.
func checkSeal(dir string, files map[string][]byte) error {
	s, err := readSums(dir, doneFile)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(s.sum)) {
		if err := s.Check(name, files[name], "remove the folder and run again"); err != nil {
			return err
		}
	}
	return nil
}

// Metric is one named figure of a step. Names are those verl logs, such as
// "actor/grad_norm"; they are printable ASCII without quotes and backslashes.
type Metric struct {
	Name  string
	Value float64
}

// stepKey is the first key of every line of metrics.jsonl.
const stepKey = "step"

// checkNames returns an error when a metric name cannot be a JSON key as it
// stands, is reserved, or occurs twice. The lists are short: pairs are compared.
func checkNames(metrics []Metric) error {
	for i := range metrics {
		name := metrics[i].Name
		if name == "" || name == stepKey {
			return fmt.Errorf("record: metric %d is named %q: choose another name", i, name)
		}
		for j := 0; j < len(name); j++ {
			if c := name[j]; c < ' ' || c > '~' || c == '"' || c == '\\' {
				return fmt.Errorf("record: metric name %q: only printable ASCII without quotes and backslashes", name)
			}
		}
		if slices.ContainsFunc(metrics[:i], func(m Metric) bool { return m.Name == name }) {
			return fmt.Errorf("record: metric %q is given twice", name)
		}
	}
	return nil
}

// AppendStep appends one line of metrics.jsonl.
func AppendStep(dst []byte, step int, metrics []Metric) []byte {
	dst = append(dst, `{"step":`...)
	dst = strconv.AppendInt(dst, int64(step), 10)
	return append(appendMetrics(dst, metrics), '}', '\n')
}

// appendMetrics appends names with their values, each after a comma.
func appendMetrics(dst []byte, metrics []Metric) []byte {
	for i := range metrics {
		dst = append(dst, ',', '"')
		dst = append(dst, metrics[i].Name...)
		dst = append(dst, '"', ':')
		dst = AppendFloat(dst, metrics[i].Value)
	}
	return dst
}

// Metrics are one object in JSON, in their order.
type Metrics []Metric

// MarshalJSON writes the object.
func (m Metrics) MarshalJSON() ([]byte, error) {
	if err := checkNames(m); err != nil || len(m) == 0 {
		return []byte("{}"), err
	}
	b := appendMetrics(nil, m)
	b[0] = '{' // in place of the first comma
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes, in the order of the text.
func (m *Metrics) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("metrics: want an object")
	}
	list, err := readMetrics(nil, dec)
	if err != nil {
		return err
	}
	*m = list
	return checkNames(list)
}

// WriteArchive writes the folder of a finished run as a zip archive: what the runner
// leaves on a disk, where there is none. lines is its metrics.jsonl, checkpoint the files
// of its final weights. Equal runs give equal bytes.
func WriteArchive(w io.Writer, r *Record, lines []byte, checkpoint map[string][]byte) error {
	summary, err := jsonLine(r.Summary)
	if err != nil {
		return err
	}
	var clock []byte
	if r.Clock != nil {
		if clock, err = jsonLine(r.Clock); err != nil {
			return err
		}
	}
	files := map[string][]byte{RecipeFile: r.Recipe, MetricsFile: lines, SummaryFile: summary,
		doneFile: seal(sumOf(r.Recipe), sumOf(lines), sumOf(summary), clock)}
	if clock != nil {
		files[ClockFile] = clock
	}
	for name, data := range checkpoint {
		files[path.Join(CheckpointFolder, name)] = data
	}
	z := zip.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := z.Create(name)
		if err == nil {
			_, err = f.Write(files[name])
		}
		if err != nil {
			return err
		}
	}
	return z.Close()
}
