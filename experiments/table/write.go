package table

import (
	"bytes"
	"fmt"

	"driftlab/results"
)

// File is a file's name and its contents.
type File struct {
	Name string
	Data []byte
}

// Files are the comparison's pages, its figures as CSV and its picture.
func (t *Tuned) Files() ([]File, error) {
	var words bytes.Buffer
	words.WriteString("# Corrections at tuned learning rates\n\nWritten from the sweeps `tune`, `transfer` and `scales`, as far as they are finished. `simulate methods NAME` explains each setting and each stressor.\n\n" + t.summary() + "\n\n")
	if len(t.Tasks) == 0 {
		return []File{{wordsFile, words.Bytes()}}, nil
	}
	lines, err := t.configurationTable()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&words, "[%s](%[1]s) says whether the ranking transfers between tasks, base models and learning rates; [%s](%[2]s) has every figure.\n\n", transferFile, sheetFile)
	words.WriteString(lines.Markdown() + "\n" + t.SummaryTable().Markdown())
	for _, table := range t.tables() {
		words.WriteString("\n" + table.Markdown())
	}
	return []File{{wordsFile, words.Bytes()}, {sheetFile, []byte(t.sheet().CSV())}, {transferFile, t.transferPage()}, {transferDrawFile, results.PNG(t.picture(), results.LightPaper)}}, nil
}
