package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// DumpWriter writes a per-token dump, one JSON object per sampled sequence. A
// name that ends in .gz is compressed, in one gzip member per training step: the
// file can be cut after any step, and where a run was interrupted leaves no trace.
type DumpWriter struct {
	path   string
	file   *os.File
	out    *bufio.Writer // to file and sum
	size   int64         // bytes of the file as far as out was flushed
	sum    hash.Hash     // and their SHA-256
	gz     *gzip.Writer  // nil for plain text
	member bool          // one is open
	step   int           // of its lines
	line   []byte        // reused
	claim  *dumpClaim    // nil unless the dump belongs to a run's folder
}

// DumpMark is how far a dump had come: the length and the SHA-256 of the file.
type DumpMark struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// CreateDump starts a dump at path. A file that is there is not written over,
// and no folder is made. Errors are FolderErrors.
func CreateDump(path string) (*DumpWriter, error) {
	if err := dumpable(path); err != nil {
		return nil, err
	}
	return openDump(path, DumpMark{})
}

// gzipped reports whether the dump of that name is compressed.
func gzipped(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gz") }

// otherFormats are name endings that promise what a dump is not.
var otherFormats = []string{".zst", ".zstd", ".bz2", ".xz", ".lz4", ".br", ".zip", ".tgz", ".tar", ".7z", ".parquet", ".arrow", ".csv", ".tsv", ".npy", ".npz", ".pkl", ".pt", ".safetensors"}

// dumpable returns an error unless a dump can begin at path: its name promises
// JSON lines or gzip, and there is nothing yet, or something empty.
func dumpable(path string) error {
	if ending := strings.ToLower(filepath.Ext(path)); slices.Contains(otherFormats, ending) {
		return &FolderError{Path: path, Problem: "a dump is JSON lines, plain or with gzip, not " + ending, Fix: "choose a name that ends in .jsonl or .jsonl.gz"}
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return &FolderError{Path: dir, Problem: "no such folder", Fix: "make it, or choose another path", Err: err}
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 && !info.IsDir() {
		return &FolderError{Path: path, Problem: "this file is there already and is not the dump of this run", Fix: "move it away, or choose another name"}
	}
	return nil
}

// openDump opens a file to go on at a mark, where it is cut.
func openDump(path string, at DumpMark) (*DumpWriter, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fileError(path, err)
	}
	w := &DumpWriter{path: path, file: f, sum: sha256.New()}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() { // a pipe or a device has no end to move
		if err := w.cut(at); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	w.out = bufio.NewWriterSize(counted{w}, 1<<16)
	if gzipped(path) {
		w.gz = gzip.NewWriter(w.out)
	}
	return w, nil
}

// cut drops what follows the mark. It refuses a file that is another one up to
// there, or that another process is writing, before anything is changed.
func (w *DumpWriter) cut(at DumpMark) error {
	if err := lock(w.file); errors.Is(err, errHeld) {
		return &FolderError{Path: w.path, Problem: "another process is writing this dump", Fix: "choose another name"}
	}
	if err := w.verify(at); err != nil {
		return err
	}
	w.size = at.Bytes
	return fileError(w.path, w.file.Truncate(at.Bytes))
}

// verify reads the file up to the mark and returns an error if it is another one.
func (w *DumpWriter) verify(at DumpMark) error {
	n, err := io.Copy(w.sum, io.LimitReader(w.file, at.Bytes))
	if err != nil {
		return fileError(w.path, err)
	}
	refused := &FolderError{Path: w.path, Fix: "put the run's own file there, or choose another folder with --out"}
	switch {
	case n < at.Bytes:
		refused.Problem = fmt.Sprintf("not the dump of this run, or cut short: it has %d bytes, not %d", n, at.Bytes)
	case n > 0 && fmt.Sprintf("%x", w.sum.Sum(nil)) != at.SHA256:
		refused.Problem = fmt.Sprintf("not the dump of this run, or damaged: its first %d bytes are not those that were written", n)
	default:
		return nil
	}
	return refused
}

// counted is the writer below the buffer: it counts and sums what goes out.
type counted struct{ *DumpWriter }

func (c counted) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.sum.Write(p[:n])
	c.size += int64(n)
	return n, err
}

// Write appends one line. It returns an error when a list does not fit the
// tokens or the file cannot be written.
func (w *DumpWriter) Write(d *DumpLine) error {
	line, err := d.appendJSON(w.line[:0])
	w.line = line
	if err != nil {
		return err
	}
	if w.step != d.Step {
		if err := w.endMember(); err != nil {
			return err
		}
		w.step = d.Step
	}
	return w.writeLine(line)
}

func (w *DumpWriter) writeLine(line []byte) error {
	var to io.Writer = w.out
	if w.gz != nil {
		if !w.member {
			w.gz.Reset(w.out)
			w.member = true
		}
		to = w.gz
	}
	if _, err := to.Write(line); err != nil {
		return fileError(w.path, err)
	}
	_, err := to.Write([]byte{'\n'})
	return fileError(w.path, err)
}

// Mark completes what was written so far, forces it to the disk, and says how
// far the dump has come. It is called between steps.
func (w *DumpWriter) Mark() (DumpMark, error) {
	if err := w.flush(); err != nil {
		return DumpMark{}, err
	}
	// A pipe or a device cannot be forced.
	if err := w.file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return DumpMark{}, fileError(w.path, err)
	}
	return DumpMark{w.size, fmt.Sprintf("%x", w.sum.Sum(nil))}, nil
}

// endMember completes the gzip member that is open.
func (w *DumpWriter) endMember() error {
	if !w.member {
		return nil
	}
	w.member = false
	return fileError(w.path, w.gz.Close())
}

func (w *DumpWriter) flush() error {
	if err := w.endMember(); err != nil {
		return err
	}
	return fileError(w.path, w.out.Flush())
}

// Close completes the file.
func (w *DumpWriter) Close() error {
	if w.gz != nil && w.size == 0 {
		w.member = true // an empty member, for readers that take an empty file for a torn one
	}
	return errors.Join(w.flush(), fileError(w.path, w.file.Close()))
}

// ReadDump calls visit for every line of a dump, plain or compressed, in
// order, until it returns io.EOF. The line is reused: copy what is to be kept. A
// torn last line is left out. Errors name the file and the line.
func ReadDump(path string, visit func(*DumpLine) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fileError(path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	// A stream cut short is a torn last line, whatever layer notices.
	torn := func(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if torn(err) {
			return nil // killed before the header was out
		}
		if err != nil {
			return fileError(path, err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	var d DumpLine
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if torn(err) {
			return nil
		}
		if err != nil {
			return fileError(path, err)
		}
		d = DumpLine{}
		if err = json.Unmarshal(line, &d); err == nil {
			err = d.check()
		}
		if err == nil {
			err = visit(&d)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
}
