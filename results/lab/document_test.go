package lab

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/published"
)

var update = flag.Bool("update", false, "write lab.json.gz")

// TestDocument makes lab.json of results/published again, digit for digit.
func TestDocument(t *testing.T) {
	text := must.Get(build(t).encode())(t)
	if *update {
		must.Do(t, os.WriteFile("lab.json.gz", published.Gzip(text), 0o666))
		return
	}
	if !bytes.Equal(text, publishedFile()) {
		t.Error("lab.json.gz is not what lessons/ and results/published give; `go generate ./results/lab` makes it")
	}
}
