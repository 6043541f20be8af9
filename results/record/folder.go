package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"driftlab/results/record/atomicfile"
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
	if _, known := errors.AsType[*FolderError](err); known {
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
		e.Problem, e.Fix = atomicfile.Cause(err).Error(), "check the path, or choose another folder with --out"
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

// readOptional is readJSON of a file that a run's folder may lack: nil without it.
func readOptional[T any](dir, name string) (*T, []byte, error) {
	v := new(T)
	text, err := readJSON(filepath.Join(dir, name), v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return v, text, nil
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

// LockFile is the name of the file that is held, and says by whom, while a process writes to a folder.
const LockFile = ".lock"

// Lock keeps a folder for one process. The operating system holds it, so it
// ends with the process however that ends; where a system or a file system has
// no locks, none is taken.
type Lock struct {
	file *os.File
	dir  string
	made bool
}

// errHeld says that another process holds the lock.
var errHeld = errors.New("held")

// LockFolder takes a folder, which is made with its parents, and removes the
// temporary files that killed processes left there. If another process holds
// the folder, the error says which and since when.
func LockFolder(dir string) (*Lock, error) {
	_, err := os.Stat(dir)
	l := &Lock{dir: dir, made: errors.Is(err, os.ErrNotExist)}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	for l.file == nil {
		if err := l.try(); err != nil {
			return nil, err
		}
	}
	// Who holds it, and by the file's age since when, is printed for people; that it
	// is held does not depend on this.
	_ = l.file.Truncate(0)
	_, _ = fmt.Fprintf(l.file, "process %d\n", os.Getpid())
	Sweep(dir, CheckpointFolder, plotFolder)
	return l, nil
}

// try opens and locks the file, which is no symbolic link: its target would be overwritten. It leaves l as it was if the holder before let
// go, and so removed the file, between the two.
func (l *Lock) try() error {
	path := filepath.Join(l.dir, LockFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|noFollow, 0o644)
	if err != nil {
		return folderError(path, err)
	}
	switch err := lock(f); {
	case errors.Is(err, errHeld):
		err := &FolderError{Path: l.dir, Problem: "in use by " + holder(f), Fix: "wait until it has ended, or choose another folder with --out"}
		return errors.Join(err, f.Close())
	case err != nil && !errors.Is(err, errors.ErrUnsupported):
		return errors.Join(folderError(path, err), f.Close())
	}
	mine, err := f.Stat()
	if there, gone := os.Stat(path); err == nil && gone == nil && os.SameFile(mine, there) {
		l.file = f
		return nil
	}
	return folderError(path, errors.Join(err, f.Close()))
}

// holder is what the lock's owner wrote, and when.
func holder(f *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(f, 100))
	line := strings.TrimSpace(string(text))
	info, err := f.Stat()
	if err != nil || line == "" {
		return "another process"
	}
	return line + " since " + info.ModTime().Format(time.DateTime)
}

// Release gives the folder back, and removes it if this lock made it and
// nothing was put there.
func (l *Lock) Release() {
	if l.file == nil {
		return // another process may hold it by now
	}
	path := filepath.Join(l.dir, LockFile)
	// Removed while it is held, so that no later lock is taken away; where
	// open files cannot be removed, no other lock can be either.
	removed := os.Remove(path)
	_ = l.file.Close()
	l.file = nil
	if removed != nil {
		_ = os.Remove(path)
	}
	if l.made {
		_ = os.Remove(l.dir)
	}
}

// temporary matches the names of files that are renamed once they are whole.
var temporary = regexp.MustCompile(`^\..+\.[0-9]+\.tmp$`)

// Sweep removes the temporary files that killed processes left in a folder and
// in those below it that are named. The caller holds the lock: no process is writing
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

// ShellWord is a word of a command line as shells read it, quoted where it must be.
func ShellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("=.,/_-+:@%", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
