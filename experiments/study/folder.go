package study

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/results/record"
)

// Folder is what a sweep's folder has so far, read once for the tables, the page and the
// terminal.
type Folder struct {
	*Index
	// Rows are the outcomes of the cells that are there, in the order of the plan: a run that
	// several cells share is a row of each.
	Rows []Row

	store       *Store
	done        map[string]*Outcome // by key
	baselines   Baselines
	comparisons []comparison
}

// Row is a cell of the plan with what its run came to.
type Row struct {
	Run    string            `json:"run"`
	Values map[string]string `json:"values"`
	Seed   uint64            `json:"seed"`
	Outcome

	command, cannotAct string
}

// openSweep opens the folder of a sweep.
func openSweep(dir string) (*Store, error) {
	return OpenStore(dir, "run the sweep again, which writes it anew")
}

// outcomes reads those of a store's cells, by key.
func outcomes(s *Store) (map[string]*Outcome, error) {
	done := map[string]*Outcome{}
	return done, s.withCells(func(cells *record.Cells) error {
		for _, key := range cells.Keys() {
			o := new(Outcome)
			if err := json.Unmarshal(cells.Get(key).Outcome, o); err != nil || o.Status == "" {
				return &record.FolderError{Path: filepath.Join(s.Dir, record.CellsFile), Problem: fmt.Sprintf("the cell %s is not the outcome of a run", key), Fix: "give the folder of a sweep", Err: err}
			}
			done[key] = o
		}
		return nil
	})
}

// opened opens the folder of a sweep and reads its outcomes.
func opened(dir string) (s *Store, done map[string]*Outcome, err error) {
	if s, err = openSweep(dir); err == nil {
		done, err = outcomes(s)
	}
	return s, done, err
}

// ReadIndex reads the plan of a sweep's folder.
func ReadIndex(dir string) (*Index, error) {
	_, x, err := openIndex(dir)
	return x, err
}

// openIndex opens the folder of a sweep that has a plan.
func openIndex(dir string) (s *Store, x *Index, err error) {
	if s, err = openSweep(dir); err == nil {
		x, err = s.Index()
	}
	if x == nil && err == nil {
		err = &record.FolderError{Path: dir, Problem: "no sweep here", Fix: "give the folder of one, which holds a " + PlanFile}
	}
	return s, x, err
}

// Read reads what a folder is to hold, and what it has of it.
func Read(dir string) (*Folder, error) {
	s, x, err := openIndex(dir)
	if err != nil {
		return nil, err
	}
	return newFolder(s, x)
}

// newFolder puts outcomes into the places of their cells.
func newFolder(s *Store, x *Index) (*Folder, error) {
	done, err := outcomes(s)
	if err != nil {
		return nil, err
	}
	d := &Folder{Index: x, store: s, done: done}
	for i := range x.Arms {
		a := &x.Arms[i]
		for k, key := range a.Keys {
			if o := done[key]; o != nil {
				d.Rows = append(d.Rows, Row{Run: key, Values: a.Values, Seed: x.Seeds[k], Outcome: *o, command: a.command(x.Seeds[k]), cannotAct: a.cannotAct()})
			}
		}
	}
	return d, nil
}

// compared are the comparisons of the rows, made once.
func (d *Folder) compared() []comparison {
	if d.comparisons == nil {
		d.comparisons = d.Comparisons(d.Rows, d.baselines)
	}
	return d.comparisons
}

// Missing says which runs are missing; empty if none is.
func (d *Folder) Missing() string { return d.lacks(d.wanted(d.done)) }

// lacks is Missing of some cells.
func (d *Folder) lacks(wanted []place) string {
	const most = 3
	var list []string // what the runs are
	seen := map[string]bool{}
	for _, w := range wanted {
		a := &d.Arms[w.arm]
		if key := a.Keys[w.seed]; d.done[key] == nil && !seen[key] {
			seen[key] = true
			name := fmt.Sprintf("seed %d", d.Seeds[w.seed])
			for _, f := range d.Factors {
				name = f.Name + "=" + a.Values[f.Name] + ", " + name
			}
			list = append(list, name)
		}
	}
	if len(list) == 0 {
		return ""
	}
	of := fmt.Sprintf("%d of %d runs are missing", len(list), d.Runs())
	if d.Ladder != nil {
		of = fmt.Sprintf("at least %d runs are missing", len(list))
	}
	text := of + ": " + strings.Join(list[:min(len(list), most)], "; ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text + "."
}

// Tables are the choices of what is written in addition to the cells.
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

// Finish puts a folder's cells into the order of the plan and writes what they come to,
// as far as they go. The same outcomes give the same bytes, whatever the order in
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

// WriteTables writes what a folder's cells come to so far, and nothing else: also of a
// sweep that is under way.
func WriteTables(dir string, o Tables) (*Folder, error) {
	d, err := Read(dir)
	if err != nil {
		return nil, err
	}
	return d, d.tables(o)
}

// finish is Finish with the cells read and the folder held.
func (d *Folder) finish(o Tables) error {
	err := d.store.withCells(func(cells *record.Cells) error {
		for _, head := range d.heads() {
			if cell := cells.Get(head.Key); cell != nil {
				cell.Arm, cell.Seed = head.Arm, head.Seed // as this plan calls it
			}
		}
		return cells.Seal(d.keys())
	})
	if err != nil {
		return err
	}
	return d.tables(o)
}

// tables writes those that are asked for.
func (d *Folder) tables(o Tables) error {
	d.baselines = o.Baselines
	to := cmp.Or(o.Dir, d.store.Dir)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return storage(to, err)
	}
	if err := d.writeRuns(to, o); err != nil {
		return err
	}
	if err := o.writeComparisons(to, d.compared(), len(d.Seeds)); err != nil {
		return err
	}
	if o.Steps {
		return d.writeSteps(to, o)
	}
	return nil
}

// Parts are the folders to put together that the given ones are or hold: a sweep's
// own and those of its shards.
func Parts(dirs []string) (parts []string) {
	planned := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, PlanFile))
		return err == nil
	}
	for _, dir := range dirs {
		shards, _ := fs.Glob(os.DirFS(dir), "shard-*") // the pattern is valid
		var below []string
		for _, shard := range shards {
			if part := filepath.Join(dir, shard); planned(part) {
				below = append(below, part)
			}
		}
		if planned(dir) || len(below) == 0 {
			below = append(below, dir)
		}
		parts = append(parts, slices.DeleteFunc(below, func(part string) bool { return slices.Contains(parts, part) })...)
	}
	return parts
}

// Merge puts the runs of several folders of one sweep into another, which then holds
// the bytes of a sweep that was run there as a whole. It wants every cell, and no two
// outcomes of one run.
func Merge(parts []string, dir string, o Tables) (*Folder, error) {
	lock, err := record.LockFolder(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	s, err := openSweep(dir)
	if err != nil {
		return nil, err
	}
	s.cells = record.NewCells(dir, s.sums)
	var index *Index
	for _, part := range parts {
		other, x, err := openIndex(part)
		if err != nil {
			return nil, err
		}
		if index == nil {
			index = x
		} else if string(index.text()) != string(x.text()) {
			return nil, &record.FolderError{Path: part, Problem: "another sweep than " + parts[0], Fix: "run both from the same file"}
		}
		merge := func(cells *record.Cells) error { return other.withCells(cells.Merge) }
		if err := s.withCells(merge); err != nil {
			return nil, err
		}
	}
	d, err := newFolder(s, index)
	if err != nil {
		return nil, err
	}
	if missing := d.lacks(d.asked(d.done, nil)); missing != "" { // a check at the limit of another arm may add cells, which no shard knows of
		return nil, &record.FolderError{Path: dir, Problem: strings.TrimSuffix(missing, "."), Fix: "run their shards to the end"}
	}
	if err := s.WriteIndex(index); err != nil {
		return nil, err
	}
	return d, d.finish(o)
}
