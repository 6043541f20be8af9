package record

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// SumsFile seals the files of a folder that are read back: their SHA-256, as sha256sum -c
// checks them.
const SumsFile = "SHA256SUMS"

// Sums are the seals of the files at or below a folder, by their paths from there.
type Sums struct {
	dir string
	sum map[string]string
}

// ReadSums reads the seals of a folder; one without has none.
func ReadSums(dir string) (*Sums, error) {
	s := &Sums{dir: dir, sum: map[string]string{}}
	at := filepath.Join(dir, SumsFile)
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
	return &FolderError{Path: filepath.Join(s.dir, filepath.FromSlash(name)), Problem: problem + filepath.Join(s.dir, SumsFile), Fix: fix}
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
	return writeAtomic(filepath.Join(s.dir, SumsFile), text)
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
