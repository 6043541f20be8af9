package record

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// FolderError says, in one line, which path could not be read or written, why,
// and what to do about it. Commands treat it as bad input (exit status 2).
type FolderError struct {
	// Path is the file or folder.
	Path string
	// Problem is the cause in plain words.
	Problem string
	// Remedy is what the user can do.
	Remedy string
	// Err is the error underneath, possibly nil.
	Err error
}

// Error returns the one line.
func (e *FolderError) Error() string {
	line := e.Path + ": " + e.Problem + ": " + e.Remedy
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '\n' || r == '\r' }), ";")
}

// Unwrap returns the error underneath.
func (e *FolderError) Unwrap() error { return e.Err }

// folderError explains an error of the operating system.
func folderError(path string, err error) error {
	if err == nil {
		return nil
	}
	var known *FolderError
	if errors.As(err, &known) {
		return err
	}
	e := &FolderError{Path: path, Err: err}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Problem, e.Remedy = "the disk is full", "free some space, or choose another folder with --out"
	case errors.Is(err, syscall.EROFS):
		e.Problem, e.Remedy = "the file system is read-only", "choose another folder with --out"
	case errors.Is(err, fs.ErrPermission):
		e.Problem, e.Remedy = "permission denied", "change its permissions, or choose another folder with --out"
	case errors.Is(err, syscall.ENOTDIR):
		e.Problem, e.Remedy = "a part of this path is a file, not a folder", "choose another folder with --out"
	case errors.Is(err, syscall.EISDIR):
		e.Problem, e.Remedy = "this is a folder, not a file", "choose another path"
	case errors.Is(err, fs.ErrNotExist):
		e.Problem, e.Remedy = "no such file or folder", "check the path"
	default:
		e.Problem, e.Remedy = cause(err).Error(), "check the path, or choose another folder with --out"
	}
	return e
}

// fileError is folderError for a file that the user named directly, as a dump
// or a plot: --out would not move it.
func fileError(path string, err error) error {
	err = folderError(path, err)
	if e, ok := err.(*FolderError); ok {
		e.Remedy = strings.TrimSuffix(e.Remedy, " with --out")
	}
	return err
}

// cause strips the operation and path that *fs.PathError repeats.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}

// makeFolder creates dir and its parents.
func makeFolder(dir string) error { return folderError(dir, os.MkdirAll(dir, 0o777)) }

// writeAtomic puts data at path so that a reader, or a later run after a
// crash, sees either nothing, the old file, or all of the new one.
func writeAtomic(path string, data []byte) error {
	return writeWhole(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// writeWhole is writeAtomic for what need not be in memory at once.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return folderError(path, err)
	}
	// CreateTemp makes the file private; a result is meant to be shared.
	err = f.Chmod(0o644)
	if err == nil {
		err = write(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return folderError(path, err)
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// WriteFile puts data into a file of a run directory, whole or not at all.
func WriteFile(dir, name string, data []byte) error {
	return writeAtomic(filepath.Join(dir, name), data)
}

// WriteWhole is WriteFile for data that need not be in memory at once.
func WriteWhole(dir, name string, write func(io.Writer) error) error {
	return writeWhole(filepath.Join(dir, name), write)
}

// WriteNew puts data, whole or not at all, into a file that the user named directly; its folder
// is made.
func WriteNew(path string, data []byte) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return fileError(path, err)
	}
	return fileError(path, writeAtomic(path, data))
}

// syncFolder makes a rename durable. Some file systems refuse; that costs
// durability after a power cut, not correctness, so the error is dropped.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
