package lab

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write lab.json")

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
		if err := os.WriteFile("lab.json", text, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(text, document) {
		t.Error("lab.json is not what lessons/ and results/published give; `go generate ./results/lab` makes it")
	}
}
