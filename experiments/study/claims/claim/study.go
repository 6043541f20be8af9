package claim

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"driftlab/results/record"
)

// studyRuns takes figures of the runs of a study, which a claim judges in place of runs of its own: the runs last hours, and an arm
// of the study is trained from the same base models as the others. StudyFolder is where they are read.
type studyRuns struct {
	Name string
	// First is the seed of the study that is the first replication; the others follow it.
	First uint64
	// Record are figures of every arm of the study.
	Record []recorded
}

// evaluated is the metric whose steps are those of every evaluation.
const evaluated = "val/learner/pass_rate"

// StudyFolder is the folder of a study that a claim of a directory judges: `simulate study NAME --out FOLDER` makes it.
func StudyFolder(dir, name string) string { return filepath.Join(dir, "studies", name) }

// Measure records the figures of the seed's runs in a finished study.
func (s *studyRuns) Measure(e *Env, o *Observation) {
	dir := StudyFolder(e.Cache.dir, s.Name)
	cells := Cached(e.Cache, dir, func() *record.Cells {
		if !record.CellsFinished(dir) {
			StopOn(&record.FolderError{Path: dir, Problem: "the study that the claim judges is not finished here", Fix: fmt.Sprintf("make its runs: simulate study %s --out %s", s.Name, dir)})
		}
		return Must(record.ReadCells(dir, Must(record.ReadSums(dir))))
	})
	runs, seed := 0, s.First+e.Seed-1
	for _, key := range cells.Keys() {
		if cell := cells.Get(key); cell.Seed == seed {
			runs++
			s.record(e, o, cell)
		}
	}
	if runs == 0 {
		StopOn(&record.FolderError{Path: dir, Problem: fmt.Sprintf("the study has no run of seed %d, which is replication %d", seed, e.Seed), Fix: "ask for fewer replications with --seeds"})
	}
}

// record records the figures of a run.
func (s *studyRuns) record(e *Env, o *Observation, cell *record.Cell) {
	curve, _, err := cell.Columns()
	StopOn(err)
	columns := map[string][]float64{}
	for name, column := range curve {
		columns[name] = column.Value
		if !strings.HasPrefix(name, "val/") {
			continue
		}
		columns[name] = nil
		for _, step := range curve[evaluated].Step {
			v, ok := column.At(step)
			if !ok {
				v = math.NaN() // such as the pass rate of a length that no response had
			}
			columns[name] = append(columns[name], v)
		}
	}
	arm := &Arm{Name: cell.Arm}
	for _, f := range s.Record {
		if name, ok := f.figure(arm, ""); ok {
			o.Append(name, Must(f.values(e, columns, nil))...)
		}
	}
}
