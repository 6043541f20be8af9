package sweep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"driftlab/results/record"
)

// Pack compresses the log of a sweep's folder, or undoes that, and returns how many files
// changed. A log with a damaged line is not packed. Everything that reads a log reads a
// packed one too, and a run of the sweep writes a plain one again.
func Pack(dir string, undo bool) (int, error) {
	lock, err := record.LockFolder(dir)
	if err != nil {
		return 0, err
	}
	defer lock.Release()
	path, there := filepath.Join(dir, logFile), filepath.Join(dir, logFile)
	if undo {
		there += record.PackedSuffix
	}
	if _, err := os.Stat(there); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if _, _, err := readLog(dir); err != nil {
		return 0, err
	}
	if undo {
		return 1, record.UnpackFile(path)
	}
	return 1, record.PackFile(path)
}
