package main

import "testing"

// TestProgramName: commands in messages can be typed however the program was started.
func TestProgramName(t *testing.T) {
	for _, c := range []struct {
		called, path string
		inPath, root bool
		want         string
	}{
		{"/tmp/go-build12/b001/exe/simulate", "/tmp/go-build12/b001/exe/simulate", false, true, "go run ./cmd/simulate"},
		{"/tmp/go-build12/b001/exe/simulate", "/tmp/go-build12/b001/exe/simulate", false, false, "go run driftlab/cmd/simulate"},
		{"./simulate", "/home/me/driftlab/simulate", false, true, "./simulate"},
		{"simulate", "/usr/bin/simulate", true, false, "simulate"},
		{"/usr/bin/simulate", "/usr/bin/simulate", true, false, "simulate"},
		{"../bin/sim", "/home/me/bin/sim", false, false, "../bin/sim"},
	} {
		if got := nameOf(c.called, c.path, c.inPath, c.root); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestTypableCommands: commands alone are rewritten, once, and the word in prose is not.
func TestTypableCommands(t *testing.T) {
	const program = "go run ./cmd/simulate"
	for text, want := range map[string]string{
		"Next: simulate --seeds 6 --out x":               "Next: go run ./cmd/simulate --seeds 6 --out x",
		"`simulate methods` lists all":                   "`go run ./cmd/simulate methods` lists all",
		"simulate sweep quick\nsimulate train a":         "go run ./cmd/simulate sweep quick\ngo run ./cmd/simulate train a",
		"go run ./cmd/simulate sweep quick":              "go run ./cmd/simulate sweep quick",
		"./simulate sweep quick":                         "./simulate sweep quick",
		"Examples:\n  simulate\n  simulate --json":       "Examples:\n  go run ./cmd/simulate\n  go run ./cmd/simulate --json",
		"to simulate a system":                           "to simulate a system",
		"simulate: unknown command":                      "simulate: unknown command",
		"the recipe simulate trains":                     "the recipe simulate trains",
		"runs/simulate train":                            "runs/simulate train",
		"compare (simulate reproduce dppo), then go on.": "compare (go run ./cmd/simulate reproduce dppo), then go on.",
	} {
		if got := typable(text, program); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, command := range commandTable(t).Leaves(true) {
		if text := "simulate " + commandName(command); typable(text, program) == text {
			t.Errorf("%s is not rewritten", text)
		}
	}
	if got := typable("simulate train", "simulate"); got != "simulate train" {
		t.Errorf("of the plain name: %q", got)
	}
}
