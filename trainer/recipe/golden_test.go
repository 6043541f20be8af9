package recipe

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before committing it")

// TestFaults runs the scripts of testdata/faults: each is a recipe and, after
// a line of "--- faults", every message it must give. Lines "--- set X" before
// that are assignments.
func TestFaults(t *testing.T) {
	paths, err := filepath.Glob("testdata/faults/*.txt")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d scripts, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text, want, ok := bytes.Cut(script, []byte("--- faults\n"))
			if !ok && !*update {
				t.Fatal("no line --- faults")
			}
			yaml, sets := splitSets(text)
			got := faultsOf(yaml, sets)
			if *update {
				must(t, os.WriteFile(path, append(append(bytes.Clone(text), "--- faults\n"...), got...), 0o644))
				return
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("messages differ (-want +got):\n%s", diff)
			}
		})
	}
}

// splitSets takes the "--- set" lines out of a script.
func splitSets(text []byte) (yaml []byte, sets []string) {
	for line := range bytes.Lines(text) {
		if set, ok := strings.CutPrefix(string(line), "--- set "); ok {
			sets = append(sets, strings.TrimSuffix(set, "\n"))
			continue
		}
		yaml = append(yaml, line...)
	}
	return yaml, sets
}

// faultsOf is the text of all faults, one per line; "none" without any.
func faultsOf(yaml []byte, sets []string) string {
	doc, err := readTree("recipe.yaml", yaml)
	var changes []Change
	if err == nil {
		changes, err = parseChanges("--set", sets)
	}
	if err == nil {
		err = doc.apply(changes)
	}
	if err == nil {
		_, err = doc.recipe()
	}
	var faults Faults
	switch {
	case err == nil:
		return "none\n"
	case !errors.As(err, &faults):
		return fmt.Sprintf("not Faults but %T: %v\n", err, err)
	}
	return lists.ReplaceAllString(faults.Error(), "${1}${2}...") + "\n"
}

// lists are the enumerations of names in messages: they grow with every method.
var lists = regexp.MustCompile(`(?m)(\(known: |\? known: |choose one of )[^)\n]*|(parameter of )[^:\n]*`)
