package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// The committed files are what the generator writes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	for name, want := range files() {
		got := must.Get(os.ReadFile(filepath.Join("..", name)))(t)
		if string(got) != want {
			t.Errorf("%s is out of date: run go generate in the folder above", name)
		}
	}
}

// On amd64 every routine ends with VZEROUPPER: without it, whatever follows pays for the
// upper halves of the registers at each instruction.
func TestEveryRoutineClearsUpperHalves(t *testing.T) {
	for name, text := range files() {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if strings.Contains(name, "amd64") && strings.TrimSpace(line) == "RET" && strings.TrimSpace(lines[i-1]) != "VZEROUPPER" {
				t.Errorf("%s:%d: RET after %q", name, i+1, lines[i-1])
			}
		}
		if strings.HasSuffix(name, ".s") && !strings.Contains(text, "RET") {
			t.Errorf("%s has no routine", name)
		}
	}
}
