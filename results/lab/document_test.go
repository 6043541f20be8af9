package lab

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"driftlab/results/published"
)

var update = flag.Bool("update", false, "write lab.json.gz")

// TestDocument makes lab.json of results/published again, digit for digit.
func TestDocument(t *testing.T) {
	d, err := Build(os.DirFS("../published"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.encode()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("lab.json.gz", published.Gzip(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, publishedFile()) {
		t.Error("lab.json.gz is not what lessons/ and results/published give; `go generate ./results/lab` makes it")
	}
}
