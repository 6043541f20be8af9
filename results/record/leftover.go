package record

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// temporary matches the names of files that are renamed once they are whole.
var temporary = regexp.MustCompile(`^\..+\.[0-9]+\.tmp$`)

// Sweep removes the temporary files that killed processes left in a folder and
// in those below it that are named. The caller holds the lock: nobody is writing
// them.
func Sweep(dir string, below ...string) {
	for _, name := range append([]string{"."}, below...) {
		folder := filepath.Join(dir, name)
		entries, _ := os.ReadDir(folder) // a folder that is not there has no leftovers
		for _, e := range entries {
			if temporary.MatchString(e.Name()) {
				_ = os.RemoveAll(filepath.Join(folder, e.Name()))
			}
		}
	}
}

// Foreign lists what a folder holds other than the files of a run and the given
// names: somebody else's, which nothing here reads, changes or removes.
func Foreign(dir string, known ...string) []string {
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		if !slices.Contains(runFiles, name) && !slices.Contains(known, name) && !temporary.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}
