package sweep

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"os"
	"slices"

	"driftlab/results/record"
)

// Tables are the choices of what is written beside the log.
type Tables struct {
	// Dir is where they go; empty for the sweep's own folder.
	Dir string
	// Steps writes the table of all steps too, which is large.
	Steps bool
	// Baselines are what the values of factors are compared with.
	Baselines Baselines
	// Parquet makes the writer of a table's other form; nil for CSV alone.
	Parquet func(w io.Writer, columns []record.Head) record.RowWriter
}

// Finish puts a folder's log into the order of the plan and writes what it comes to,
// as far as it goes. The same outcomes give the same bytes, whatever the order in
// which they came.
func Finish(dir string, o Tables) error {
	lock, err := record.LockFolder(dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	x, done, err := read(dir)
	if err != nil {
		return err
	}
	return x.finish(dir, done, o)
}

// WriteTables writes what a folder's log comes to so far, and nothing else: also of a
// sweep that is under way.
func WriteTables(dir string, o Tables) error {
	x, done, err := read(dir)
	if err != nil {
		return err
	}
	return x.tables(dir, x.rows(done), o)
}

// read reads what a folder is to hold, and what it has of it.
func read(dir string) (*Index, map[string]Outcome, error) {
	x, err := ReadIndex(dir)
	if err != nil {
		return nil, nil, err
	}
	done, _, err := readLog(dir)
	return x, done, err
}

// finish is Finish with the log read and the folder held.
func (x *Index) finish(dir string, done map[string]Outcome, o Tables) error {
	var text bytes.Buffer
	rows := x.rows(done)
	seen := map[string]bool{}
	put := func(o Outcome) error {
		if seen[o.Run] {
			return nil
		}
		seen[o.Run] = true
		line, err := o.line()
		text.Write(line)
		return err
	}
	for _, o := range rows {
		if err := put(o); err != nil {
			return err
		}
	}
	for _, run := range slices.Sorted(maps.Keys(done)) { // of an earlier plan
		if err := put(done[run]); err != nil {
			return err
		}
	}
	if err := record.WriteLines(dir, logFile, text.Bytes()); err != nil {
		return err
	}
	return x.tables(dir, rows, o)
}

// tables writes those that are asked for.
func (x *Index) tables(dir string, rows []Outcome, o Tables) error {
	to := cmp.Or(o.Dir, dir)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return storage(to, err)
	}
	if err := x.writeRuns(to, rows, o); err != nil {
		return err
	}
	if err := x.writeComparisons(to, rows, o); err != nil {
		return err
	}
	if o.Steps {
		return x.writeSteps(dir, to, rows, o)
	}
	return nil
}
