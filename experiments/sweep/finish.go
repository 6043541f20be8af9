package sweep

import (
	"cmp"
	"io"
	"os"

	"driftlab/results/record"
)

// Tables are the choices of what is written in addition to the log.
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
func Finish(dir string, o Tables) (*Folder, error) {
	lock, err := record.LockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	d, err := Read(dir)
	if err != nil {
		return nil, err
	}
	return d, d.finish(o)
}

// WriteTables writes what a folder's log comes to so far, and nothing else: also of a
// sweep that is under way.
func WriteTables(dir string, o Tables) (*Folder, error) {
	d, err := Read(dir)
	if err != nil {
		return nil, err
	}
	return d, d.tables(o)
}

// finish is Finish with the log read and the folder held.
func (d *Folder) finish(o Tables) error {
	if err := d.cells.Seal(d.runs()); err != nil {
		return err
	}
	return d.tables(o)
}

// tables writes those that are asked for.
func (d *Folder) tables(o Tables) error {
	d.baselines = o.Baselines
	to := cmp.Or(o.Dir, d.dir)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return storage(to, err)
	}
	if err := d.writeRuns(to, d.Rows, o); err != nil {
		return err
	}
	if err := o.writeComparisons(to, d.compared(), len(d.Seeds)); err != nil {
		return err
	}
	if o.Steps {
		return d.writeSteps(d.dir, to, d.Rows, o)
	}
	return nil
}
