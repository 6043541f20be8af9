package record

import (
	"fmt"
	"io"
	"os"
)

// mostBytes is the most that is read of a file of a record: a run of ten thousand steps has 20 MB of metrics. mostCells is
// that of a file of cells: ten thousand runs of a hundred steps have 300 MB of curves.
const (
	mostBytes = 128 << 20
	mostCells = 1 << 30
)

// ReadFile is os.ReadFile of a file that a run, a sweep or a claim has written. One that is longer than any of theirs is
// an error.
func ReadFile(path string) ([]byte, error) { return readAtMost(path, mostBytes) }

func readAtMost(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = &FolderError{Path: path, Problem: fmt.Sprintf("more than %d MB, which no file of a record has", most>>20), Fix: "restore the file from where it was copied or published"}
	}
	return text, err
}
