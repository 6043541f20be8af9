package loss

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mutate = flag.Bool("mutations", false, "compile every listed mutation and run the tests against it (minutes)")

// mutationsText has changes of one sign, clip or mask each: the file, what stands there,
// what stands there then. Every one must break a test: what no test notices is not tested.
//
//go:embed testdata/mutations.txt
var mutationsText string

// TestMutations checks that every mutation still applies to the source, and
// with -mutations that some test notices it.
func TestMutations(t *testing.T) {
	for line := range strings.Lines(mutationsText) {
		var file, before, after string
		if _, err := fmt.Sscanf(line, "%s %q %q", &file, &before, &after); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), before); n != 1 {
			t.Errorf("%s: %q occurs %d times, want 1", file, before, n)
			continue
		}
		if *mutate && survives(t, file, strings.Replace(string(source), before, after, 1)) {
			t.Errorf("%s: no test notices %q", file, after)
		}
	}
}

// survives runs the tests of the package and the golden cases with one file replaced.
func survives(t *testing.T, file, source string) bool {
	t.Helper()
	dir := t.TempDir()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	mutant := filepath.Join(dir, "mutant.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{mutant: []byte(source), filepath.Join(dir, "overlay.json"): overlay} {
		must(t, os.WriteFile(name, data, 0o600))
	}
	// The worked examples notice almost anything: leave them out, so that the
	// proper tests have to.
	text, err := exec.Command("go", "test", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-skip", "WorkedExamples|Mutations", ".", "../golden").CombinedOutput()
	if err == nil {
		return true
	}
	if !strings.Contains(string(text), "--- FAIL") {
		t.Errorf("%s: the mutant does not compile:\n%s", file, text)
	}
	return false
}
