package record

import (
	"driftlab/results/record/atomicfile"
	"encoding/json"
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
	// Fix is what the user can do.
	Fix string
	// Err is the error underneath, possibly nil.
	Err error
}

// Error returns the one line.
func (e *FolderError) Error() string {
	line := e.Path + ": " + e.Problem + ": " + e.Fix
	return strings.Join(strings.FieldsFunc(line, func(r rune) bool { return r == '\n' || r == '\r' }), ";")
}

// Unwrap returns the error underneath.
func (e *FolderError) Unwrap() error { return e.Err }

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
		e.Problem, e.Fix = "the disk is full", "free some space, or choose another folder with --out"
	case errors.Is(err, syscall.EROFS):
		e.Problem, e.Fix = "the file system is read-only", "choose another folder with --out"
	case errors.Is(err, fs.ErrPermission):
		e.Problem, e.Fix = "permission denied", "change its permissions, or choose another folder with --out"
	case errors.Is(err, syscall.ENOTDIR):
		e.Problem, e.Fix = "a part of this path is a file, not a folder", "choose another folder with --out"
	case errors.Is(err, syscall.EISDIR):
		e.Problem, e.Fix = "this is a folder, not a file", "choose another path"
	case errors.Is(err, fs.ErrNotExist):
		e.Problem, e.Fix = "no such file or folder", "check the path"
	default:
		e.Problem, e.Fix = cause(err).Error(), "check the path, or choose another folder with --out"
	}
	return e
}

// fileError is folderError for a file that the user named directly, as a dump
// or a plot: --out would not move it.
func fileError(path string, err error) error {
	err = folderError(path, err)
	if e, ok := err.(*FolderError); ok {
		e.Fix = strings.TrimSuffix(e.Fix, " with --out")
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

// readJSON reads a file of a run's folder, and returns its text as well.
func readJSON(path string, v any) ([]byte, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, folderError(path, err)
	}
	if err := json.Unmarshal(text, v); err != nil {
		return nil, &FolderError{Path: path, Problem: err.Error(), Fix: "remove the folder and run again", Err: err}
	}
	return text, nil
}

// jsonLine is a value as a line of JSON.
func jsonLine(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}

func makeFolder(dir string) error { return folderError(dir, os.MkdirAll(dir, 0o777)) }

// writeAtomic puts data at path, whole or not at all.
func writeAtomic(path string, data []byte) error {
	return folderError(path, atomicfile.Bytes(path, data))
}

// WriteFile puts data into a file of a run directory, whole or not at all.
func WriteFile(dir, name string, data []byte) error {
	return writeAtomic(filepath.Join(dir, name), data)
}

// WriteWhole is WriteFile for data that need not be in memory at once.
func WriteWhole(dir, name string, write func(io.Writer) error) error {
	path := filepath.Join(dir, name)
	return folderError(path, atomicfile.Write(path, write))
}

// WriteNew puts data, whole or not at all, into a file that the user named directly; its folder
// is made.
func WriteNew(path string, data []byte) error {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return fileError(path, err)
	}
	return fileError(path, atomicfile.Bytes(path, data))
}
