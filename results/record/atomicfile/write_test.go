package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// only fails unless the folder holds one file, with that text.
func only(t *testing.T, path, want string) {
	t.Helper()
	entries := must.Get(os.ReadDir(filepath.Dir(path)))(t)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) != 1 || names[0] != filepath.Base(path) {
		t.Errorf("the folder holds %q, want %q alone", names, filepath.Base(path))
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("the file holds %q (%v), want %q", text, err, want)
	}
}

// A file is written, replaced by a shorter one, and readable by others.
func TestBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	for _, text := range []string{"the first text", "second", ""} {
		must.Do(t, Bytes(path, []byte(text)))
		only(t, path, text)
	}
	info := must.Get(os.Stat(path))(t)
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode != 0o644 {
		t.Errorf("mode %o, want 644", mode)
	}
}

// A writer that fails after some bytes leaves the old file, or none, and nothing next to it.
func TestWriteFails(t *testing.T) {
	fault := errors.New("disk full")
	torn := func(w io.Writer) error {
		_, err := io.WriteString(w, "half of the new te")
		return errors.Join(err, fault)
	}
	path := filepath.Join(t.TempDir(), "result.json")
	must.Do(t, Bytes(path, []byte("old")))
	if err := Write(path, torn); !errors.Is(err, fault) {
		t.Errorf("error %v, want %v", err, fault)
	}
	only(t, path, "old")

	empty := filepath.Join(t.TempDir(), "new.json")
	if err := Write(empty, torn); !errors.Is(err, fault) {
		t.Errorf("error %v, want %v", err, fault)
	}
	if entries, err := os.ReadDir(filepath.Dir(empty)); err != nil || len(entries) != 0 {
		t.Errorf("the folder holds %v (%v), want nothing", entries, err)
	}
}

// While the new text is written, a reader sees the old file whole.
func TestReaderSeesOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result.json")
	must.Do(t, Bytes(path, []byte("old")))
	must.Do(t, Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "new"); err != nil {
			return err
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "old" {
			t.Errorf("a reader sees %q (%v), want the old text", text, err)
		}
		return nil
	}))
	only(t, path, "new")
}

// A folder that is not there is an error with its name, and so is a folder in the file's place.
func TestWriteNeedsFolder(t *testing.T) {
	dir := t.TempDir()
	if err := Bytes(filepath.Join(dir, "missing", "result.json"), nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("no folder: %v", err)
	}
	taken := filepath.Join(dir, "taken")
	must.Do(t, os.MkdirAll(filepath.Join(taken, "file"), 0o777))
	if err := Bytes(taken, []byte("text")); err == nil {
		t.Error("a folder with files was replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (%v), want the other folder alone", entries, err)
	}
}
