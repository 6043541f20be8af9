package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// dumpClaimFile says, in a run's folder, where its dump is.
const dumpClaimFile = "dump.json"

// dumpClaim ties a dump, which may be anywhere, to the run it belongs to.
type dumpClaim struct {
	// File is the path, from the run's folder where that is possible.
	File string `json:"file"`
	// Whole is the complete dump; nil while the run is unfinished.
	Whole *DumpMark `json:"whole,omitempty"`

	dir string
}

// claimOf reads the claim of a run's folder, nil if it has none.
func claimOf(dir string) (*dumpClaim, error) {
	c := &dumpClaim{dir: dir}
	_, err := readJSON(filepath.Join(dir, dumpClaimFile), c)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// fromFolder is a path as a claim holds it.
func fromFolder(dir, path string) string {
	from, err := filepath.Abs(dir)
	to, err2 := filepath.Abs(path)
	if err != nil || err2 != nil {
		return path
	}
	if relative, err := filepath.Rel(from, to); err == nil {
		return filepath.ToSlash(relative)
	}
	return to
}

// path is the dump's place for people.
func (c *dumpClaim) path() string {
	if filepath.IsAbs(c.File) {
		return c.File
	}
	return filepath.Join(c.dir, filepath.FromSlash(c.File))
}

func (c *dumpClaim) keep() error {
	text, err := jsonLine(c)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(c.dir, dumpClaimFile), text)
}

// OpenRunDump begins the dump of the run in dir, whose lock the caller holds, or
// takes it up where the run is taken up: after so many steps, at the mark that
// was kept with them, nil if none was. An empty path is for no dump. A dump
// holds every step of its run, so it is refused for a run that has begun
// without one, and a run that has begun with one is not continued without.
// name is the run's, as in the dump's lines.
func OpenRunDump(dir, path, name string, steps int, at *DumpMark) (*DumpWriter, error) {
	claim, err := claimOf(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case path == "" && claim == nil:
		return nil, nil
	case path == "":
		return nil, &FolderError{Path: dir, Problem: "this run is dumped to " + claim.path(),
			Fix: fmt.Sprintf("add --dump %s, or remove %s to go on without", claim.path(), filepath.Join(dir, dumpClaimFile))}
	case steps > 0 && at == nil:
		return nil, &FolderError{Path: dir, Problem: fmt.Sprintf("this run has come to step %d without --dump", steps),
			Fix: "leave the flag out, or choose another folder with --out"}
	}
	mine := claim != nil && claim.File == fromFolder(dir, path)
	if at == nil {
		at = new(DumpMark)
	}
	if at.Bytes == 0 && !(mine && beginsLike(path, name)) {
		if err := dumpable(path); err != nil {
			return nil, err
		}
	}
	w, err := openDump(path, *at)
	if err != nil {
		return nil, err
	}
	w.claim = &dumpClaim{dir: dir, File: fromFolder(dir, path)}
	if err := w.claim.keep(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// beginsLike reports whether a file begins as a dump of a run of that name
// does, if only with the first bytes of one.
func beginsLike(path, name string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	quoted, _ := json.Marshal(name)
	want := fmt.Appendf(nil, `{"run":%s,"step":1,`, quoted)
	if gzipped(path) {
		want = []byte{0x1f, 0x8b, 8, 0}
	}
	head, _ := io.ReadAll(io.LimitReader(f, int64(len(want))))
	return bytes.HasPrefix(want, head)
}

// Finish completes the file and, if it belongs to a run, keeps with the run
// what it is.
func (w *DumpWriter) Finish() error {
	if err := w.Close(); err != nil || w.claim == nil {
		return err
	}
	w.claim.Whole = &DumpMark{w.size, fmt.Sprintf("%x", w.sum.Sum(nil))}
	return w.claim.keep()
}

// CheckRunDump returns an error unless path is the whole dump of the finished
// run in dir.
func CheckRunDump(dir, path string) error {
	claim, err := claimOf(dir)
	if err != nil {
		return err
	}
	if claim == nil || claim.Whole == nil {
		return &FolderError{Path: dir, Problem: "this run was made without --dump and will not be run again", Fix: "leave the flag out, or choose another folder with --out"}
	}
	f, err := os.Open(path)
	if err != nil {
		return fileError(path, err)
	}
	defer f.Close()
	w := &DumpWriter{path: path, file: f, sum: sha256.New()}
	if err := w.verify(*claim.Whole); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == claim.Whole.Bytes {
		return fileError(path, err)
	}
	return &FolderError{Path: path, Problem: fmt.Sprintf("not the dump that the run wrote: %d bytes follow its %d", info.Size()-claim.Whole.Bytes, claim.Whole.Bytes),
		Fix: fmt.Sprintf("cut it to %d bytes, or choose another folder with --out", claim.Whole.Bytes)}
}
