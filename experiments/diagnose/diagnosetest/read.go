// Package diagnosetest analyses dumps on disk, in tests.
package diagnosetest

import (
	"os"
	"testing"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
)

// Read hands a file to an analysis, under the name that reports have it by.
func Read(t testing.TB, a *diagnose.Analysis, path, name string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Read(reader.Input{Name: name, At: f, Size: info.Size()}); err != nil {
		t.Fatal(err)
	}
}
