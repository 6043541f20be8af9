package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// TestTutorial runs the commands of the tutorial in their order; of those of the go command, what they name has to exist.
func TestTutorial(t *testing.T) {
	root := must.Get(filepath.Abs("../.."))(t)
	page := must.Get(os.ReadFile(filepath.Join(root, "trainer", "TUTORIAL.md")))(t)
	t.Chdir(t.TempDir())
	ran := 0
	for _, line := range regexp.MustCompile(`(?m)^ {4}go run \./cmd/simulate (.*)$`).FindAllStringSubmatch(string(page), -1) {
		var stdout, stderr strings.Builder
		if status := run(strings.Fields(line[1]), &stdout, &stderr); status != statusOK || stdout.Len() == 0 {
			t.Errorf("%s: status %d, %q", line[1], status, stderr.String())
		}
		if strings.Contains(line[1], "--rollout bf16 --learner bf16") && !regexp.MustCompile(`bf16 +bf16 +\d+ +0 +0 `).MatchString(stdout.String()) {
			t.Errorf("equal numerics have another k3 than 0:\n%s", stdout.String())
		}
		ran++
	}
	for _, line := range regexp.MustCompile(`(?m)^ {4}go test \./(\S+) -run (\w+) -v$`).FindAllStringSubmatch(string(page), -1) {
		files := must.Get(filepath.Glob(filepath.Join(root, line[1], "*_test.go")))(t)
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			found = found || err == nil && strings.Contains(string(text), "\nfunc "+line[2]+"(")
		}
		if !found {
			t.Errorf("%s has no %s", line[1], line[2])
		}
		ran++
	}
	if ran < 7 {
		t.Errorf("only %d commands", ran)
	}
}
