package sweep

import "driftlab/results/record"

// Folder is what a sweep's folder has so far, read once for the tables, the page and the
// terminal.
type Folder struct {
	*Index
	// Rows are the outcomes of the cells that are there, in the order of the plan: a run that
	// several cells share is a row of each.
	Rows []Outcome

	dir         string
	cells       *record.Cells
	done        map[string]Outcome // by run
	baselines   Baselines
	comparisons []comparison
}

// Read reads what a folder is to hold, and what it has of it.
func Read(dir string) (*Folder, error) {
	x, err := ReadIndex(dir)
	if err != nil {
		return nil, err
	}
	cells, done, err := readCells(dir)
	if err != nil {
		return nil, err
	}
	return newFolder(dir, x, cells, done), nil
}

// newFolder puts outcomes into the places of their cells.
func newFolder(dir string, x *Index, cells *record.Cells, done map[string]Outcome) *Folder {
	d := &Folder{Index: x, dir: dir, cells: cells, done: done}
	for _, p := range x.Points {
		for i, run := range p.Runs {
			if o, ok := done[run]; ok {
				o.Values, o.Seed = p.Values, x.Seeds[i]
				o.command, o.cannotAct = p.command(o.Seed), p.cannotAct()
				d.Rows = append(d.Rows, o)
			}
		}
	}
	return d
}

// Missing says which runs are missing; empty if none is.
func (d *Folder) Missing() string { return d.missingText(d.done) }

// compared are the comparisons of the rows, made once.
func (d *Folder) compared() []comparison {
	if d.comparisons == nil {
		d.comparisons = d.Comparisons(d.Rows, d.baselines)
	}
	return d.comparisons
}
