package results

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// DumpWriter writes a per-token dump, one JSON object per sampled sequence. A
// name that ends in .gz is compressed.
type DumpWriter struct {
	path string
	file *os.File
	out  *bufio.Writer
	gz   *gzip.Writer // nil for plain text
	line []byte       // reused
}

// CreateDump starts a dump at path, replacing a file that is there; its folder
// is made. Errors are FolderErrors.
func CreateDump(path string) (*DumpWriter, error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, fileError(path, err)
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	w := &DumpWriter{path: path, file: f, out: bufio.NewWriterSize(f, 1<<16)}
	if strings.HasSuffix(path, ".gz") {
		w.gz = gzip.NewWriter(w.out)
	}
	return w, nil
}

// ResumeDump takes up the dump of an interrupted run: the lines of steps up to
// last are kept, later ones and a torn one are dropped, and what follows makes
// the same lines as an uninterrupted dump. A missing dump is begun.
func ResumeDump(path string, last int) (*DumpWriter, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return CreateDump(path)
	}
	// Compressed text cannot be cut in place, so the kept lines are copied
	// through a second file, which replaces the first only when it is whole.
	suffix := ".resume"
	if strings.HasSuffix(path, ".gz") {
		suffix += ".gz"
	}
	w, err := CreateDump(path + suffix)
	if err != nil {
		return nil, err
	}
	err = eachDumpLine(path, func(line []byte) error {
		var at struct {
			Step int `json:"step"`
		}
		if err := json.Unmarshal(line, &at); err != nil {
			return err
		}
		if at.Step > last {
			return io.EOF
		}
		return w.writeLine(line)
	})
	if err == nil {
		err = fileError(path, os.Rename(path+suffix, path))
	}
	if err != nil {
		w.file.Close()
		os.Remove(path + suffix)
		return nil, err
	}
	w.path = path
	return w, nil
}

// Write appends one line. It returns an error when a list does not fit the
// tokens or the file cannot be written.
func (w *DumpWriter) Write(d *DumpLine) error {
	line, err := d.appendJSON(w.line[:0])
	w.line = line
	if err != nil {
		return err
	}
	return w.writeLine(line)
}

// writeLine appends the text of a line and its newline.
func (w *DumpWriter) writeLine(line []byte) error {
	var to io.Writer = w.out
	if w.gz != nil {
		to = w.gz
	}
	if _, err := to.Write(line); err != nil {
		return fileError(w.path, err)
	}
	_, err := to.Write([]byte{'\n'})
	return fileError(w.path, err)
}

// Flush hands everything written so far to the operating system. Call it
// before a checkpoint, so that ResumeDump finds every step of it.
func (w *DumpWriter) Flush() error {
	if w.gz != nil {
		if err := w.gz.Flush(); err != nil {
			return fileError(w.path, err)
		}
	}
	return fileError(w.path, w.out.Flush())
}

// Close completes the file.
func (w *DumpWriter) Close() error {
	var err error
	if w.gz != nil {
		err = w.gz.Close()
	}
	if e := w.out.Flush(); err == nil {
		err = e
	}
	if e := w.file.Close(); err == nil {
		err = e
	}
	return fileError(w.path, err)
}

// ReadDump calls visit for every line of a dump, plain or compressed, in
// order. The line is reused: copy what is to be kept. A torn last line is left
// out. Errors name the file and the line.
func ReadDump(path string, visit func(*DumpLine) error) error {
	var d DumpLine
	return eachDumpLine(path, func(line []byte) error {
		d = DumpLine{}
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		if err := d.check(); err != nil {
			return err
		}
		return visit(&d)
	})
}

// eachDumpLine calls visit for every complete line until it returns io.EOF.
func eachDumpLine(path string, visit func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fileError(path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
			return nil // killed before the header was out
		}
		if err != nil {
			return fileError(path, err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	var line []byte
	for n := 1; ; n++ {
		line = line[:0]
		for {
			part, err := in.ReadSlice('\n')
			line = append(line, part...)
			if err == nil {
				break
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			// A stream cut short is a torn last line, whatever layer noticed.
			if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
				return nil
			}
			return fileError(path, err)
		}
		switch err := visit(line[:len(line)-1]); {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
}
