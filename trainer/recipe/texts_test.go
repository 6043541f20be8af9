package recipe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTextsNameMethods: every paragraph of a package's texts is of one of its methods.
func TestTextsNameMethods(t *testing.T) {
	var names []string
	for _, m := range Methods() {
		names = append(names, m.Name)
	}
	files, err := filepath.Glob("../method/*/*s.txt")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d files of texts, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for paragraph := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
			if name, _, _ := strings.Cut(paragraph, "\n"); !slices.Contains(names, name) {
				t.Errorf("%s: %q is no method", file, name)
			}
		}
	}
}
