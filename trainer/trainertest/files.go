package trainertest

import (
	"path/filepath"
	"testing"

	"driftlab/model"
	"driftlab/results/record"
)

// Model saves random weights of the run's shape and returns their folder.
func Model(t testing.TB) string {
	t.Helper()
	p := model.New(Recipe(t).Resolved().Model)
	p.Init(99)
	dir := filepath.Join(t.TempDir(), "other")
	if err := model.Save(dir, p, model.Extras{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Dumped is what a job writes to its dump.
func Dumped(t testing.TB, job func(w *record.DumpWriter) error) (lines []record.DumpLine) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dump.jsonl.gz")
	w, err := record.CreateDump(path)
	if err == nil {
		err = job(w)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = record.ReadDump(path, func(d *record.DumpLine) error {
			lines = append(lines, *d)
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return lines
}
