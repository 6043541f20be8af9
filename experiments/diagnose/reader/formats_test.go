package reader_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

var update = flag.Bool("update", false, "write the page's table of formats")

// The page of diagnose has every format, as the table of formats says it.
func TestFormatTable(t *testing.T) {
	const head = "| format | files | what they have |\n|---|---|---|\n"
	page := filepath.FromSlash("../README.md")
	text := must.Get(os.ReadFile(page))(t)
	before, after, found := strings.Cut(string(text), head)
	rows, rest, end := strings.Cut(after, "\n\n")
	if !found || !end {
		t.Fatal("the page has no table of formats")
	}
	var want strings.Builder
	formats, _ := reader.Formats()
	for _, f := range formats {
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", f.Name, f.Files, f.Has)
	}
	if *update {
		must.Do(t, os.WriteFile(page, []byte(before+head+want.String()+"\n"+rest), 0o666))
	} else if rows+"\n" != want.String() {
		t.Errorf("the page has another table of formats: go test ./experiments/diagnose/reader -run TestFormatTable -update")
	}
}
