package record

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"
)

// Mark is how far a record had come: the last step, and the length and SHA-256
// of metrics.jsonl up to there. The zero Mark is that of an empty record.
type Mark struct {
	Step   int    `json:"step"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// check returns an error that says where the record is not what it was at the mark.
func (m Mark) check(path string, data []byte) error {
	if m == (Mark{}) || m.Bytes <= int64(len(data)) && sumOf(data[:m.Bytes]) == m.SHA256 {
		return nil
	}
	reached := 0
	err := eachStep(path, data, func(step int, _ []Metric) bool {
		reached = step
		return step < m.Step
	})
	if err != nil {
		return err
	}
	damaged := &FolderError{Path: path, Fix: "remove the folder to start again",
		Problem: fmt.Sprintf("the lines up to step %d are not those that the run wrote: figures or names were changed", m.Step)}
	if reached < m.Step {
		damaged.Problem = fmt.Sprintf("the record ends at step %d, before the checkpoint's step %d", reached, m.Step)
	}
	return damaged
}

// follows reports whether a step may come after the last, -1 for none.
func follows(step, last int) bool { return step == last+1 || last < 0 && step == 1 }

// sumOf is the SHA-256 of a text, in hexadecimal digits.
func sumOf(text []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

// seal is the text of the file that ends a run: the sums of what it leaves, as
// sha256sum writes and checks them.
func seal(recipe, metrics, summary string, clock []byte) []byte {
	text := fmt.Appendf(nil, "%s  %s\n%s  %s\n%s  %s\n", recipe, RecipeFile, metrics, MetricsFile, summary, SummaryFile)
	if clock != nil {
		text = fmt.Appendf(text, "%s  %s\n", sumOf(clock), ClockFile)
	}
	return text
}

// checkSeal holds the files of a finished run against its seal. A run of an
// early version has an empty one.
func checkSeal(dir string, files map[string][]byte) error {
	text, err := ReadFile(filepath.Join(dir, doneFile))
	if err != nil {
		return folderError(filepath.Join(dir, doneFile), err)
	}
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		data, known := files[name]
		if known && sumOf(data) == sum {
			continue
		}
		path := filepath.Join(dir, name)
		if !known {
			path = filepath.Join(dir, doneFile)
		}
		return &FolderError{Path: path, Problem: "not as the run left it: its SHA-256 is not the one in " + doneFile, Fix: "remove the folder and run again"}
	}
	return nil
}
