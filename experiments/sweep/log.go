package sweep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"driftlab/results/record"
)

// Files and folders of a sweep's folder, next to its cells.
const (
	// timesFile says how long each run took. No result depends on it.
	timesFile = "times.csv"
	// stepsFolder has the steps of every run, a file each.
	stepsFolder = "steps"
	// runningFolder has the runs that are under way, runsFolder those that are kept.
	runningFolder = "running"
	runsFolder    = "runs"
)

// readCells reads the cells of a folder, and their outcomes by run.
func readCells(dir string) (*record.Cells, map[string]Outcome, error) {
	cells, err := record.ReadCells(dir, differInText)
	if err != nil {
		return nil, nil, err
	}
	done := map[string]Outcome{}
	for _, run := range cells.Keys() {
		var o Outcome
		if err := json.Unmarshal(cells.Get(run), &o); err != nil || o.Run != run {
			return nil, nil, &record.FolderError{Path: filepath.Join(dir, record.CellsFile), Problem: fmt.Sprintf("the cell %s is not the outcome of a run", run), Fix: "give the folder of a sweep", Err: err}
		}
		done[run] = o
	}
	return cells, done, nil
}

// differInText is differsIn of two outcomes as cells have them.
func differInText(a, b []byte) string {
	var x, y Outcome
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return "form"
	}
	return differsIn(x, y)
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
