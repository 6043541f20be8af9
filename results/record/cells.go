package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A folder of experiments keeps what its cells came to in one file, a sealed line for each
// cell. The lines stand in CellsFile while cells are added, and compressed in PackedCells when
// the folder is finished: the same lines, each with its own seal.
const (
	CellsFile   = "cells.jsonl"
	PackedCells = CellsFile + ".zst"
)

// Cell is what a cell of an experiment came to: a line of the file.
type Cell struct {
	// Key is the hash of what decides the outcome, or a name that says it. Arm and Seed are for
	// people: a cell that several arms share has the first one's.
	Key  string `json:"key"`
	Arm  string `json:"arm,omitempty"`
	Seed uint64 `json:"seed"`
	// Outcome is what it came to, Curve the figures of its steps; nil where there are none.
	Outcome json.RawMessage `json:"outcome,omitempty"`
	Curve   json.RawMessage `json:"curve,omitempty"`
	// In is the folder, next to this one, in which a line of the same key has the outcome; empty where this line has it.
	In string `json:"in,omitempty"`
}

// differs says in what two cells of one key differ, whatever their arm is called; empty where
// they are equal.
func (c *Cell) differs(other *Cell) string {
	if c.Curve != nil && other.Curve != nil && !bytes.Equal(c.Curve, other.Curve) {
		return "curve"
	}
	if bytes.Equal(c.Outcome, other.Outcome) {
		return ""
	}
	var a, b map[string]json.RawMessage
	if json.Unmarshal(c.Outcome, &a) == nil && json.Unmarshal(other.Outcome, &b) == nil {
		for _, field := range slices.Sorted(maps.Keys(a)) {
			if !bytes.Equal(a[field], b[field]) {
				return field
			}
		}
	}
	return "outcome"
}

// Cells are the cells of a folder, by key.
type Cells struct {
	dir   string
	sums  *Sums
	cells map[string]*Cell
	from  map[string]string // the folder that a merged cell comes from
	order []string          // keys in the order of the lines
	file  *os.File          // for more lines; nil until the first
	size  int64             // of the whole lines
}

// NewCells are the cells of a folder without any, which has these seals.
func NewCells(dir string, sums *Sums) *Cells {
	return &Cells{dir: dir, sums: sums, cells: map[string]*Cell{}, from: map[string]string{}}
}

// ReadCells reads the cells of a folder, of which there may be none, with the outcomes that stand in folders next to it. Two values of
// one cell that differ are an error.
func ReadCells(dir string, sums *Sums) (*Cells, error) {
	c, err := ownCells(dir, sums)
	if err != nil {
		return nil, err
	}
	folders := map[string]*Cells{}
	for _, key := range c.order {
		cell := c.cells[key]
		if cell.In == "" {
			continue
		}
		other := filepath.Join(dir, "..", cell.In)
		if folders[other] == nil {
			sums, err := ReadSums(other)
			if err == nil {
				folders[other], err = ownCells(other, sums)
			}
			if err != nil {
				return nil, err
			}
		}
		of := folders[other].Get(key)
		if of == nil || of.Outcome == nil {
			return nil, &FolderError{Path: dir, Problem: fmt.Sprintf("the outcome of %s stands in %s, which does not have it", key, other), Fix: "copy or restore the folders next to this one as well"}
		}
		cell.Outcome, cell.In = of.Outcome, ""
	}
	return c, nil
}

// ownCells is ParseCells of the file of a folder.
func ownCells(dir string, sums *Sums) (*Cells, error) {
	path := filepath.Join(dir, CellsFile)
	text, err := readAtMost(path, mostCells)
	if errors.Is(err, fs.ErrNotExist) {
		path = filepath.Join(dir, PackedCells)
		if text, err = readAtMost(path, mostCells); err == nil {
			err = sums.Check(PackedCells, text, restore)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, folderError(path, err)
	}
	c, err := ParseCells(path, text)
	if c != nil {
		c.sums = sums
	}
	return c, err
}

// restore is what to do about a damaged file that is finished.
const restore = "restore the file from where it was copied or published"

// ParseCells reads the text of a file, plain or compressed as its name says. Cells with In have no outcome yet. The last
// line counts as none where a killed process left a part of it; every other line that is not
// as it was written is an error.
func ParseCells(path string, text []byte) (*Cells, error) {
	c, first := NewCells(filepath.Dir(path), nil), map[string]int{} // the line of a cell
	packed := filepath.Base(path) == PackedCells && text != nil
	if packed {
		plain, err := decompress(text)
		if err != nil {
			return nil, &FolderError{Path: path, Problem: "damaged: " + err.Error(), Fix: restore, Err: err}
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
			wrong.Fix = restore
		}
		cell := new(Cell)
		bare, err := OpenLine(line)
		if err == nil && (json.Unmarshal(bare, cell) != nil || cell.Key == "" || (cell.Outcome == nil) == (cell.In == "") || cell.In != "" && !filepath.IsLocal(cell.In)) {
			err = errors.New("not a cell")
		}
		if err != nil && !packed && bytes.IndexByte(rest, '\n') < 0 && !json.Valid(line) {
			return c, nil // a power cut left the line without its text
		}
		if err != nil {
			wrong.Problem, wrong.Err = err.Error(), err
			return nil, wrong
		}
		if old := c.cells[cell.Key]; old != nil {
			if in := old.differs(cell); in != "" {
				wrong.Problem = fmt.Sprintf("a second outcome of %s, which differs from the one in line %d in %s", cell.Key, first[cell.Key], in)
				wrong.Fix = "remove both lines, and the cell is measured again"
				return nil, wrong
			}
		}
		c.put(cell)
		first[cell.Key] = n
		c.size += int64(len(line)) + 1
	}
}

// HasCells reports whether a folder has cells.
func HasCells(dir string) bool { return holds(dir, CellsFile) || CellsFinished(dir) }

// CellsFinished reports whether a folder has all of its cells: they are compressed then.
func CellsFinished(dir string) bool { return holds(dir, PackedCells) }

// Keys are the keys of the cells, in the order of the lines.
func (c *Cells) Keys() []string { return c.order }

// Get returns a cell; nil for one that is not there.
func (c *Cells) Get(key string) *Cell { return c.cells[key] }

// Add appends a cell, and returns when it is on the disk. The caller holds the folder's lock. A
// line that does not fit on the disk is taken back.
func (c *Cells) Add(cell Cell) error {
	line, err := cell.text()
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
	c.put(&cell)
	c.size += int64(len(line))
	return nil
}

// Merge adds the cells of another folder in memory, for Seal. Two values of one cell that differ
// are an error.
func (c *Cells) Merge(other *Cells) error {
	for _, key := range other.order {
		cell := other.cells[key]
		old := c.cells[key]
		if old == nil || old.Curve == nil && cell.Curve != nil {
			c.put(cell)
			c.from[key] = other.dir
		}
		if old == nil {
			continue
		}
		if in := old.differs(cell); in != "" {
			return &FolderError{Path: other.dir, Problem: fmt.Sprintf("%s ended otherwise than in %s: they differ in %s", key, c.from[key], in), Fix: "remove one of the two lines, of a program of another version"}
		}
	}
	return nil
}

// Sharing are the cells to be sealed where outcomes that are stored already, in folders next to this one, are not stored again; their
// lines name the folders. The other cells are added to the stored ones. Two values of one cell that differ are an error.
func (c *Cells) Sharing(stored *Cells) (*Cells, error) {
	once, err := c.With(func(cell *Cell) (bool, error) {
		if stored.cells[cell.Key] != nil {
			cell.In, cell.Outcome = filepath.Base(stored.from[cell.Key]), nil
		}
		return true, nil
	})
	if err != nil {
		return nil, err
	}
	return once, stored.Merge(c)
}

// With is what change makes of the cells, in memory; it leaves out those that it does not want.
func (c *Cells) With(change func(*Cell) (wanted bool, err error)) (*Cells, error) {
	changed := NewCells(c.dir, c.sums)
	for _, key := range c.order {
		cell := *c.cells[key]
		wanted, err := change(&cell)
		if err != nil {
			return nil, err
		}
		if wanted {
			changed.put(&cell)
		}
	}
	return changed, nil
}

func (c *Cells) put(cell *Cell) {
	if c.cells[cell.Key] == nil {
		c.order = append(c.order, cell.Key)
	}
	c.cells[cell.Key] = cell
}

// open opens the plain file after its last whole line; compressed lines are written out first.
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
	if err := c.sums.Remove(PackedCells); err != nil {
		return err
	}
	return os.RemoveAll(packed)
}

// Seal compresses the cells: those of the given keys in their order, then the others by key, and
// seals the file. Equal cells give equal bytes, in whatever order they came.
func (c *Cells) Seal(keys []string) error {
	planned := map[string]bool{}
	for _, key := range keys {
		planned[key] = true
	}
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(c.cells)), func(key string) bool { return planned[key] })
	text, err := c.text(slices.Concat(keys, others))
	if err != nil {
		return err
	}
	packed := compress(text)
	c.Close()
	if err := makeFolder(c.dir); err != nil {
		return err
	}
	if err := c.sums.Add(map[string][]byte{PackedCells: packed}); err != nil {
		return err
	}
	if err := writeAtomic(filepath.Join(c.dir, PackedCells), packed); err != nil {
		return err
	}
	return folderError(c.dir, os.RemoveAll(filepath.Join(c.dir, CellsFile)))
}

// text are the lines of cells; keys without a cell have none.
func (c *Cells) text(keys []string) ([]byte, error) {
	var text []byte
	for _, key := range keys {
		if cell := c.cells[key]; cell != nil {
			line, err := cell.text()
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

// text is the sealed line of a cell.
func (c *Cell) text() ([]byte, error) {
	text, err := json.Marshal(c)
	return append(SealLine(text), '\n'), err
}

// SumsFile seals the files of a folder that are read back: their SHA-256, as sha256sum -c
// checks them.
const SumsFile = "SHA256SUMS"

// Sums are the seals of the files at or below a folder, by their paths from there.
type Sums struct {
	dir, file string
	sum       map[string]string
}

// ReadSums reads the seals of a folder; one without has none.
func ReadSums(dir string) (*Sums, error) { return readSums(dir, SumsFile) }

func readSums(dir, file string) (*Sums, error) {
	s := &Sums{dir: dir, file: file, sum: map[string]string{}}
	at := filepath.Join(dir, file)
	text, err := ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, folderError(at, err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		sum, name, two := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !two || len(sum) != 2*sha256.Size || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, &FolderError{Path: fmt.Sprintf("%s:%d", at, n), Problem: "not a SHA-256 and a file, as sha256sum writes them", Fix: restore}
		}
		s.sum[name] = sum
	}
	return s, nil
}

// Check returns an error unless data, the file of that name, is what was sealed. The fix
// says what to do where it is not.
func (s *Sums) Check(name string, data []byte, fix string) error {
	problem := "not as it was written: its SHA-256 is not the one in "
	switch s.sum[name] {
	case sumOf(data):
		return nil
	case "":
		problem = "it has no seal in "
	}
	return &FolderError{Path: filepath.Join(s.dir, filepath.FromSlash(name)), Problem: problem + filepath.Join(s.dir, s.file), Fix: fix}
}

// Add seals files and writes the seals. They come before the files that they are of, so that
// no killed process leaves a file without.
func (s *Sums) Add(files map[string][]byte) error {
	for name, data := range files {
		s.sum[path.Clean(name)] = sumOf(data)
	}
	return s.write()
}

// Remove takes away the seal of a file that is about to be removed.
func (s *Sums) Remove(name string) error {
	if s.sum[name] == "" {
		return nil
	}
	delete(s.sum, name)
	return s.write()
}

func (s *Sums) write() error {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(s.sum)) {
		text = fmt.Appendf(text, "%s  %s\n", s.sum[name], name)
	}
	return writeAtomic(filepath.Join(s.dir, s.file), text)
}

// The seal of a line is its last field: half of the SHA-256 of the line without it.
const (
	sealField  = `,"seal":"`
	sealDigits = sha256.Size
)

// ErrSeal says that a line has a seal that is not its own, ErrUnsealed that it has none.
var (
	ErrSeal     = errors.New("not as it was written: its seal is not that of the line")
	ErrUnsealed = errors.New("it has no seal")
)

// SealLine adds its seal to a line, a JSON object with at least one field. Lines that are
// sealed one by one can be appended, put into another order and merged.
func SealLine(line []byte) []byte {
	line = bytes.TrimRight(line, "\n")
	return fmt.Appendf(nil, "%s%s%s\"}", line[:len(line)-1], sealField, sumOf(line)[:sealDigits])
}

// OpenLine returns a sealed line without its seal, or ErrSeal or ErrUnsealed and the line as
// it is.
func OpenLine(line []byte) ([]byte, error) {
	const tail = sealDigits + len(`"}`)
	at := len(line) - tail - len(sealField)
	if at < 1 || string(line[at:at+len(sealField)]) != sealField {
		return line, ErrUnsealed
	}
	bare := append(slices.Clone(line[:at]), '}')
	if string(line[at+len(sealField):]) != sumOf(bare)[:sealDigits]+`"}` {
		return line, ErrSeal
	}
	return bare, nil
}

// packedWindow is how far back zstd looks for what it has seen.
const packedWindow = 32 << 20

// compress and decompress make their writer and reader with valid options, which is all that could fail there.
func compress(text []byte) []byte {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(packedWindow), zstd.WithEncoderConcurrency(1))
	return w.EncodeAll(text, nil)
}

func decompress(packed []byte) ([]byte, error) {
	r, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostCells))
	defer r.Close()
	return r.DecodeAll(packed, nil)
}
