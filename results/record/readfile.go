package record

import (
	"fmt"
	"io"
	"os"
)

// mostBytes is the most that is read of a file of a record: a run of ten thousand steps has 20 MB of metrics.
const mostBytes = 128 << 20

// ReadFile is os.ReadFile of a file that a run, a sweep or a claim has written. One that is longer than any of theirs is
// an error.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = &FolderError{Path: path, Problem: fmt.Sprintf("more than %d MB, which no file of a record has", mostBytes>>20), Fix: "restore the file from where it was copied or published"}
	}
	return text, err
}
