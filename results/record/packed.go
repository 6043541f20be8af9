package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// PackedSuffix ends the name of a file of lines that are packed.
	PackedSuffix = ".packed"
	// PackedFiles has the files of a folder, each a line: its name and its text. A file that
	// stands next to it goes before the one of the same name in it.
	PackedFiles = "observations.jsonl" + PackedSuffix
)

// packedError is of a file that cannot be unpacked.
func packedError(path string, err error) error {
	return &FolderError{Path: path, Problem: "damaged: " + err.Error(), Fix: "restore the file from where it was copied or published", Err: err}
}

// ReadLines reads a file of lines, or the packed one that stands in its place.
func ReadLines(path string) ([]byte, error) {
	text, err := ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	packed, failed := ReadFile(path + PackedSuffix)
	if errors.Is(failed, fs.ErrNotExist) {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	if text, err = UnpackLines(packed); err != nil {
		return nil, packedError(path+PackedSuffix, err)
	}
	return text, nil
}

// HasLines reports whether a file of lines is there, packed or not.
func HasLines(path string) bool {
	return slices.ContainsFunc([]string{path, path + PackedSuffix}, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// PackFile puts the packed file into the place of one of lines, which is written and on the
// disk before the other is removed.
func PackFile(path string) error {
	text, err := ReadFile(path)
	if err != nil {
		return err
	}
	packed, err := PackLines(text)
	if err != nil {
		return &FolderError{Path: path, Problem: "cannot be packed: " + err.Error(), Fix: "finish what writes it first", Err: err}
	}
	if err := writeAtomic(path+PackedSuffix, packed); err != nil {
		return err
	}
	return os.Remove(path)
}

// UnpackFile undoes PackFile; what is not packed stays.
func UnpackFile(path string) error {
	if _, err := os.Stat(path + PackedSuffix); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	text, err := ReadLines(path)
	if err != nil {
		return err
	}
	return WriteLines(filepath.Dir(path), filepath.Base(path), text)
}

// WriteLines is WriteFile for a file that may be packed, and is so no longer.
func WriteLines(dir, name string, text []byte) error {
	if err := WriteFile(dir, name, text); err != nil {
		return err
	}
	return removeFile(filepath.Join(dir, name+PackedSuffix))
}

// removeFile removes a file that need not be there.
func removeFile(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ReadPackedFiles returns the packed files of a folder by their names; none where it has none.
func ReadPackedFiles(fsys fs.FS, dir string) (map[string][]byte, error) {
	at := path.Join(dir, PackedFiles)
	packed, err := fs.ReadFile(fsys, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines, err := UnpackLines(packed)
	if err != nil {
		return nil, packedError(at, err)
	}
	files := map[string][]byte{}
	for line := range bytes.Lines(lines) {
		var pair [2]json.RawMessage
		var name string
		if err := json.Unmarshal(line, &pair); err != nil {
			return nil, packedError(at, err)
		}
		if err := json.Unmarshal(pair[0], &name); err != nil {
			return nil, packedError(at, err)
		}
		files[name] = append(bytes.Clone(pair[1]), '\n')
	}
	return files, nil
}

// PackFiles packs the files of a folder that match a pattern, each one line of JSON, and
// removes them. It returns how many that were.
func PackFiles(dir, pattern string) (int, error) {
	found, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	files, err := ReadPackedFiles(os.DirFS(dir), ".")
	if err != nil {
		return 0, err
	}
	if files == nil {
		files = map[string][]byte{}
	}
	for _, name := range found {
		if files[name], err = ReadFile(filepath.Join(dir, name)); err != nil {
			return 0, err
		}
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // seed-2 before seed-10
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	var lines []byte
	for _, name := range names {
		text, ended := bytes.CutSuffix(files[name], []byte("\n"))
		if !ended || !json.Valid(text) || bytes.IndexByte(text, '\n') >= 0 {
			return 0, &FolderError{Path: filepath.Join(dir, name), Problem: "not one line of JSON", Fix: "delete it, and measure it again"}
		}
		lines = fmt.Appendf(lines, "[%q,%s]\n", name, text)
	}
	packed, err := PackLines(lines)
	if err != nil {
		return 0, packedError(filepath.Join(dir, PackedFiles), err)
	}
	if err := WriteFile(dir, PackedFiles, packed); err != nil {
		return 0, err
	}
	for _, name := range found {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return 0, err
		}
	}
	return len(found), nil
}

// UnpackFiles undoes PackFiles, and returns how many files that were.
func UnpackFiles(dir string) (int, error) {
	files, err := ReadPackedFiles(os.DirFS(dir), ".")
	if err != nil {
		return 0, err
	}
	for name, text := range files {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			continue
		}
		if err := WriteFile(dir, filepath.Base(name), text); err != nil {
			return 0, err
		}
	}
	return len(files), removeFile(filepath.Join(dir, PackedFiles))
}
