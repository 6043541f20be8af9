package sweep

import (
	"bytes"
	"os"
	"path/filepath"

	"driftlab/results/record"
)

// Seal seals the log and the index of a sweep that an earlier version of the program made, and
// returns how many lines that were. Nothing else of a line changes, and none that has a
// seal is sealed anew. What contradicts itself is refused.
func Seal(dir string) (sealed int, err error) {
	lock, err := record.LockFolder(dir)
	if err != nil {
		return 0, err
	}
	defer lock.Release()
	for _, name := range []string{IndexFile, logFile} {
		path := filepath.Join(dir, name)
		text, err := record.ReadLines(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return sealed, storage(path, err)
		}
		whole, n := sealLines(text)
		if name == logFile {
			_, _, err = parseLog(path, whole)
		} else {
			_, err = parseIndex(path, whole)
		}
		if err != nil {
			return sealed, err
		}
		if n == 0 {
			continue
		}
		if err := record.WriteLines(dir, name, whole); err != nil {
			return sealed, err
		}
		sealed += n
	}
	return sealed, nil
}

// sealLines seals the whole lines that have no seal, and counts them.
func sealLines(text []byte) (sealed []byte, n int) {
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return append(sealed, text...), n // torn
		}
		line := text[:end]
		if _, err := record.OpenLine(line); err == record.ErrUnsealed && bytes.HasSuffix(line, []byte("}")) {
			line = record.SealLine(line)
			n++
		}
		sealed, text = append(append(sealed, line...), '\n'), text[end+1:]
	}
	return sealed, n
}
