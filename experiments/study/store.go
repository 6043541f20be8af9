package study

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"driftlab/results/record"
)

// Files and folders of a study's folder, next to its cells.
const (
	// PlanFile says what the folder is to hold.
	PlanFile = "plan.yaml"
	// runsFolder has the folders of the runs that are under way, or of all where they are kept, by key.
	runsFolder = "runs"
	// timesFile says how long each run took. No result depends on it.
	timesFile = "times.csv"
)

// Store is the folder of a study: its plan, a line for each cell, the seals of all that is read back.
type Store struct {
	// Dir is the folder, Fix what to do about a file in it that is damaged.
	Dir, Fix string

	mu    sync.Mutex
	sums  *record.Sums
	cells *record.Cells // nil until they are read
}

// OpenStore reads the seals of a folder, which need not be there yet.
func OpenStore(dir, fix string) (*Store, error) {
	sums, err := record.ReadSums(dir)
	return &Store{Dir: dir, Fix: fix, sums: sums}, err
}

// Read returns a sealed file; nil if it is not there.
func (s *Store) Read(name string) ([]byte, error) {
	path := filepath.Join(s.Dir, name)
	text, err := record.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, storage(path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return text, s.sums.Check(name, text, s.Fix)
}

// Write seals a file and writes it, whole or not at all.
func (s *Store) Write(name string, text []byte) error {
	if err := os.MkdirAll(s.Dir, 0o777); err != nil {
		return storage(s.Dir, err)
	}
	s.mu.Lock()
	err := s.sums.Add(map[string][]byte{name: text})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return record.WriteFile(s.Dir, name, text)
}

// withCells does something with the cells, one caller at a time.
func (s *Store) withCells(do func(cells *record.Cells) error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cells == nil {
		if s.cells, err = record.ReadCells(s.Dir, s.sums); err != nil {
			return err
		}
	}
	return do(s.cells)
}

// Cell returns the cell of a key; nil if it is not there, or there is no store.
func (s *Store) Cell(key string) (cell *record.Cell, err error) {
	if s == nil {
		return nil, nil
	}
	err = s.withCells(func(cells *record.Cells) error {
		cell = cells.Get(key)
		return nil
	})
	return cell, err
}

// Keys are the keys of the cells.
func (s *Store) Keys() (keys []string, err error) {
	err = s.withCells(func(cells *record.Cells) error {
		keys = cells.Keys()
		return nil
	})
	return keys, err
}

// Add keeps a cell; without a store, or an outcome, it does nothing.
func (s *Store) Add(cell *record.Cell) error {
	if s == nil || cell.Outcome == nil {
		return nil
	}
	return s.withCells(func(cells *record.Cells) error { return cells.Add(*cell) })
}

// Seal compresses the cells, those of the keys first.
func (s *Store) Seal(keys []string) error {
	return s.withCells(func(cells *record.Cells) error { return cells.Seal(keys) })
}

// Close ends the writing of cells.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cells != nil {
		s.cells.Close()
	}
}

// runDir is the folder of the run of a key.
func (s *Store) runDir(key string) string { return filepath.Join(s.Dir, runsFolder, key) }

// storage is an error of the operating system about a file of the folder.
func storage(path string, err error) error {
	if errors.As(err, new(*record.FolderError)) {
		return err
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return &record.FolderError{Path: path, Problem: err.Error(), Fix: "make room or change its permissions, or choose another folder with --out", Err: err}
}
