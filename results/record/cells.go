package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// A folder of experiments keeps what its cells came to in one file, a sealed line for each
// cell. The lines stand in CellsFile while cells are added, and compressed in PackedCells when
// the folder is finished: the same lines, each with its own seal.
const (
	CellsFile   = "cells.jsonl"
	PackedCells = CellsFile + ".zst"
)

// Cells are those of a folder, by key.
type Cells struct {
	dir string
	// differ says in what two values of one cell differ, and is empty where they are equal.
	differ func(a, b []byte) string
	values map[string][]byte
	line   map[string]int    // in which a cell stands
	from   map[string]string // the folder that a merged cell comes from
	order  []string          // keys in the order of the lines
	file   *os.File          // for more lines; nil until the first
	size   int64             // of the whole lines
}

// cellLine is a line without its seal.
type cellLine struct {
	Key  string          `json:"key"`
	Cell json.RawMessage `json:"cell"`
}

// NewCells are the cells of a folder without any.
func NewCells(dir string, differ func(a, b []byte) string) *Cells {
	if differ == nil {
		differ = func(a, b []byte) string {
			if bytes.Equal(a, b) {
				return ""
			}
			return "their values"
		}
	}
	return &Cells{dir: dir, differ: differ, values: map[string][]byte{}, line: map[string]int{}, from: map[string]string{}}
}

// ReadCells reads the cells of a folder, of which there may be none. Two values of one cell are
// an error unless differ, nil for the comparison of bytes, finds no difference.
func ReadCells(dir string, differ func(a, b []byte) string) (*Cells, error) {
	path := filepath.Join(dir, CellsFile)
	text, err := ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, PackedCells)
		text, err = ReadFile(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, folderError(path, err)
	}
	return ParseCells(path, text, differ)
}

// ParseCells is ReadCells of the text of a file, plain or compressed as its name says. The last
// line counts as none where a killed process left a part of it; every other line that is not
// as it was written is an error.
func ParseCells(path string, text []byte, differ func(a, b []byte) string) (*Cells, error) {
	c := NewCells(filepath.Dir(path), differ)
	packed := filepath.Base(path) == PackedCells && text != nil
	if packed {
		plain, err := decompress(text)
		if err != nil {
			return nil, &FolderError{Path: path, Problem: "damaged: " + err.Error(), Fix: "restore the file from where it was copied or published", Err: err}
		}
		text = plain
	}
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(text[c.size:], []byte{'\n'})
		if !whole {
			return c, nil
		}
		wrong := &FolderError{Path: fmt.Sprintf("%s:%d", path, n), Fix: "remove the line, and its cell is measured again"}
		if packed {
			wrong.Fix = "restore the file from where it was copied or published"
		}
		var cell cellLine
		bare, err := OpenLine(line)
		if err == nil && (json.Unmarshal(bare, &cell) != nil || cell.Key == "") {
			err = errors.New("not a cell")
		}
		if err != nil && !packed && bytes.IndexByte(rest, '\n') < 0 && !json.Valid(line) {
			return c, nil // a power cut left the line without its text
		}
		if err != nil {
			wrong.Problem, wrong.Err = err.Error(), err
			return nil, wrong
		}
		if old, twice := c.values[cell.Key]; twice {
			if in := c.differ(old, cell.Cell); in != "" {
				wrong.Problem = fmt.Sprintf("a second outcome of %s, which differs from the one in line %d in %s", cell.Key, c.line[cell.Key], in)
				wrong.Fix = "remove both lines, and the cell is measured again"
				return nil, wrong
			}
		} else {
			c.order = append(c.order, cell.Key)
		}
		c.values[cell.Key], c.line[cell.Key] = cell.Cell, n
		c.size += int64(len(line)) + 1
	}
}

// HasCells reports whether a folder has cells.
func HasCells(dir string) bool {
	for _, name := range []string{CellsFile, PackedCells} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Keys are the keys of the cells, in the order of the lines.
func (c *Cells) Keys() []string { return c.order }

// Get returns what a cell came to; nil for a cell that is not there.
func (c *Cells) Get(key string) []byte { return c.values[key] }

// Add appends a cell, and returns when it is on the disk. The caller holds the folder's lock. A
// line that does not fit on the disk is taken back.
func (c *Cells) Add(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	line, err := cellText(key, text)
	if err != nil {
		return err
	}
	path := filepath.Join(c.dir, CellsFile)
	if c.file == nil {
		if err := c.open(path); err != nil {
			return folderError(path, err)
		}
	}
	if _, err = c.file.Write(line); err == nil {
		err = c.file.Sync()
	}
	if err != nil {
		_ = c.file.Truncate(c.size) // what stays of a torn line counts as none
		return folderError(path, err)
	}
	c.put(key, text)
	c.size += int64(len(line))
	return nil
}

// Merge adds the cells of another folder in memory, for Seal. Two values of one cell that differ
// are an error.
func (c *Cells) Merge(other *Cells) error {
	for _, key := range other.order {
		value := other.values[key]
		if old := c.values[key]; old != nil {
			if in := c.differ(old, value); in != "" {
				return &FolderError{Path: other.dir, Problem: fmt.Sprintf("%s ended otherwise than in %s: they differ in %s", key, c.from[key], in), Fix: "remove one of the two lines, of a program of another version"}
			}
			continue
		}
		c.put(key, value)
		c.from[key] = other.dir
	}
	return nil
}

// From is the folder that a merged cell comes from.
func (c *Cells) From(key string) string { return c.from[key] }

// put keeps a cell in memory.
func (c *Cells) put(key string, text []byte) {
	if c.values[key] == nil {
		c.order = append(c.order, key)
	}
	c.values[key] = text
}

// open opens the plain file behind its last whole line; compressed lines are written out first.
func (c *Cells) open(path string) error {
	packed := filepath.Join(c.dir, PackedCells)
	if err := makeFolder(c.dir); err != nil {
		return err
	}
	_, plain := os.Stat(path)
	if _, err := os.Stat(packed); err == nil && errors.Is(plain, fs.ErrNotExist) {
		text, err := c.text(c.order)
		if err == nil {
			err = writeAtomic(path, text)
		}
		if err != nil {
			return err
		}
		c.size = int64(len(text))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if err := f.Truncate(c.size); err != nil {
		return errors.Join(err, f.Close())
	}
	c.file = f
	return removeFile(packed)
}

// Seal compresses the cells: those of the given keys in their order, then the others by key.
// Equal cells give equal bytes, in whatever order they came.
func (c *Cells) Seal(keys []string) error {
	all := slices.Clone(keys)
	for _, key := range slices.Sorted(maps.Keys(c.values)) {
		if !slices.Contains(keys, key) {
			all = append(all, key)
		}
	}
	text, err := c.text(all)
	if err != nil {
		return err
	}
	packed, err := compress(text)
	if err != nil {
		return err
	}
	c.Close()
	if err := makeFolder(c.dir); err != nil {
		return err
	}
	if err := writeAtomic(filepath.Join(c.dir, PackedCells), packed); err != nil {
		return err
	}
	return folderError(c.dir, removeFile(filepath.Join(c.dir, CellsFile)))
}

// text are the lines of cells; keys without a cell have none.
func (c *Cells) text(keys []string) ([]byte, error) {
	var text []byte
	for _, key := range keys {
		if cell := c.values[key]; cell != nil {
			line, err := cellText(key, cell)
			if err != nil {
				return nil, err
			}
			text = append(text, line...)
		}
	}
	return text, nil
}

// Close ends the writing of cells.
func (c *Cells) Close() {
	if c.file != nil {
		_ = c.file.Close()
		c.file = nil
	}
}

// cellText is the sealed line of a cell.
func cellText(key string, cell []byte) ([]byte, error) {
	text, err := json.Marshal(cellLine{key, cell})
	return append(SealLine(text), '\n'), err
}

// removeFile removes a file that need not be there.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
