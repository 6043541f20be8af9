package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"driftlab/precision/must"
)

// TestLock takes a folder twice: the second is told by whom it is held. A lock
// that was let go, or that a killed process left as a file, blocks no process.
func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	first := must.Get(LockFolder(dir))(t)
	_, err := LockFolder(dir)
	var fe *FolderError
	if want := fmt.Sprintf("%s: in use by process %d since ", dir, os.Getpid()); !errors.As(err, &fe) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("held: %v, want %s", err, want)
	}
	first.Release()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("an empty folder is left behind: %v", err)
	}
	must.Do(t, os.Mkdir(dir, 0o755))
	leftovers := []string{LockFile, ".recipe.yaml.81.tmp", "checkpoint/.config.json.12.tmp", ".checkpoint.5.tmp/x", "plots/.a.svg.7.tmp"}
	kept := []string{"notes.tmp", ".notes", ".a.tmp", "checkpoint/config.json"}
	for _, name := range append(slices.Clone(leftovers), kept...) {
		path := filepath.Join(dir, name)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("process 1 since yesterday\n"), 0o644)))
	}
	second := must.Get(LockFolder(dir))(t)
	second.Release()
	for _, name := range append(leftovers, ".checkpoint.5.tmp") {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", name, err)
		}
	}
	for _, name := range kept {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s was removed", name)
		}
	}
	if got, want := Foreign(dir, ".notes"), []string{".a.tmp", "notes.tmp"}; !slices.Equal(got, want) {
		t.Errorf("foreign files %q, want %q", got, want)
	}
}

// TestLockIsExclusive has many take and give back one folder: no two hold it at
// a time, although every release removes the file.
func TestLockIsExclusive(t *testing.T) {
	dir := t.TempDir()
	held, taken := make(chan struct{}, 1), make([]int, 8)
	var all sync.WaitGroup
	for i := range taken {
		all.Go(func() {
			for taken[i] < 20 {
				l, err := LockFolder(dir)
				if err != nil {
					continue
				}
				select {
				case held <- struct{}{}:
				default:
					t.Error("held twice")
				}
				<-held
				l.Release()
				taken[i]++
			}
		})
	}
	all.Wait()
}

// TestLockSymbolicLink refuses a lock that is a symbolic link, and leaves its target as it is.
func TestLockSymbolicLink(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "mine")
	must.Do(t, os.WriteFile(target, []byte("text"), 0o644))
	folder := filepath.Join(dir, "run")
	if err := errors.Join(os.Mkdir(folder, 0o755), os.Symlink(target, filepath.Join(folder, LockFile))); err != nil || noFollow == 0 {
		t.Skip(err)
	}
	lock, err := LockFolder(folder)
	if err == nil {
		lock.Release()
	}
	if text, _ := os.ReadFile(target); err == nil || !strings.Contains(err.Error(), "symbolic link") || string(text) != "text" {
		t.Errorf("%v; the target has %q", err, text)
	}
}
