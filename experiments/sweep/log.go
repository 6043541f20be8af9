package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"driftlab/results/record"
)

// The files of a sweep's folder.
const (
	// logFile has a line for every run that ended.
	logFile = "runs.jsonl"
	// timesFile says how long each took, which is nobody's result.
	timesFile = "times.csv"
	// stepsFolder has the steps of every run, a file each.
	stepsFolder = "steps"
	// runningFolder has those that are under way, runsFolder those that are kept.
	runningFolder = "running"
	runsFolder    = "runs"
)

// log is the file of outcomes: lines are appended as runs end, and a line that was
// torn counts as none.
type log struct {
	dir  string
	file *os.File
	size int64 // of its whole lines
	done map[string]Outcome
}

// openLog reads the log of a folder, for more to be appended.
func openLog(dir string) (*log, error) {
	done, size, err := readLog(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, logFile)
	if err := record.UnpackFile(path); err != nil { // lines are appended to plain ones
		return nil, storage(path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, storage(path, err)
	}
	return &log{dir, f, size, done}, nil
}

// add appends an outcome. A line that does not fit on the disk is taken back.
func (l *log) add(o Outcome) error {
	line, err := o.line()
	if err != nil {
		return err
	}
	_, err = l.file.Write(line)
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		_ = l.file.Truncate(l.size) // a torn line would count as none
		return storage(filepath.Join(l.dir, logFile), err)
	}
	l.size += int64(len(line))
	l.done[o.Run] = o
	return nil
}

func (l *log) close() { _ = l.file.Close() }

// line is that of the log, with its seal.
func (o *Outcome) line() ([]byte, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return append(record.SealLine(text), '\n'), nil
}

// hasLog reports whether a folder has a log, packed or not.
func hasLog(dir string) bool { return record.HasLines(filepath.Join(dir, logFile)) }

// readLog reads the whole lines of a folder's log by run, and how many bytes they
// are. What a killed process was still writing is left out.
func readLog(dir string) (done map[string]Outcome, size int64, err error) {
	path := filepath.Join(dir, logFile)
	data, err := record.ReadLines(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, storage(path, err)
	}
	return parseLog(path, data)
}

// parseLog is readLog of the log's text.
func parseLog(path string, data []byte) (done map[string]Outcome, size int64, err error) {
	done = map[string]Outcome{}
	at := map[string]int{} // the line of a run
	for n := 1; ; n++ {
		rest := data[size:]
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return done, size, nil
		}
		last := bytes.IndexByte(rest[end+1:], '\n') < 0
		o, err := parseLine(rest[:end])
		if err != nil && last && !json.Valid(rest[:end]) {
			return done, size, nil // a power cut took its blocks
		}
		damaged := &record.FolderError{Path: fmt.Sprintf("%s:%d", path, n), Fix: "remove the line, and its run is made again", Err: err}
		if err != nil {
			damaged.Problem = err.Error()
			if errors.Is(err, record.ErrUnsealed) {
				damaged.Fix += "; if nothing in the log was changed, seal it with: simulate seal " + filepath.Dir(path)
			}
			return nil, 0, damaged
		}
		if other, ok := done[o.Run]; ok && !sameOutcome(other, o) {
			damaged.Problem = fmt.Sprintf("a second outcome of run %s, which differs from the one in line %d in %s", o.Run, at[o.Run], differsIn(other, o))
			damaged.Fix = "remove both lines, and the run is made again"
			return nil, 0, damaged
		}
		done[o.Run], at[o.Run] = o, n
		size += int64(end) + 1
	}
}

// parseLine reads a line of a log, whose seal must be its own.
func parseLine(line []byte) (o Outcome, err error) {
	bare, err := record.OpenLine(line)
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(bare, &o); err != nil || o.Run == "" {
		return o, errors.New("not the outcome of a run")
	}
	return o, nil
}

// storage is an error of the operating system about a file of the folder.
func storage(path string, err error) error {
	var known *record.FolderError
	if errors.As(err, &known) {
		return err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &record.FolderError{Path: path, Problem: err.Error(), Fix: "make room or change its permissions, or choose another folder with --out", Err: err}
}
