package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

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
