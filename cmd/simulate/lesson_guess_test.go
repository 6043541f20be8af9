package main

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"driftlab/results/lab"
)

// TestReadGuesses: what is no guess is asked for again, an empty line skips.
func TestReadGuesses(t *testing.T) {
	l := lab.Load().Lesson("gap")
	for input, want := range map[string][]string{
		"banana\n20\n1e-2\n": {"20 %", "1e-2"},
		"\n-3\n":             {"", "1e-3"},
		"abc":                {"", ""},
	} {
		var out strings.Builder
		got := readGuesses(bufio.NewReader(strings.NewReader(input)), &out, l)
		if !slices.Equal(got, want) || strings.Contains(input, "a") != strings.Contains(out.String(), "is not a valid guess") {
			t.Errorf("%q: %q\n%s", input, got, out.String())
		}
	}
}
