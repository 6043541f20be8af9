package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study/claims"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// stableFile lists the names that releases promise, one a line.
const stableFile = "testdata/stable/names.txt"

// namesNow are the names that the program has.
func namesNow(t *testing.T) []string {
	var names []string
	add := func(kind, name string) { names = append(names, kind+" "+name) }
	for _, command := range commandTable(t).Leaves(true) {
		add("command", commandName(command))
		for _, flag := range visibleFlags(command) {
			add("flag", commandName(command)+" --"+flag.Name)
		}
	}
	for _, f := range recipe.Reference() {
		add("field", f.Path)
	}
	for _, m := range recipe.Methods() {
		add("method", m.Field+" "+m.Name)
		for line := range strings.Lines(m.Defaults.YAML()) {
			if parameter, _, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "#") {
				add("parameter", m.Field+" "+m.Name+" "+parameter)
			}
		}
	}
	for _, name := range recipe.Names() {
		add("recipe", name)
	}
	for _, id := range claims.IDs() {
		add("claim", id)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// missing are the names that were promised and do not exist.
func missing(promised, now []string) []string {
	return slices.DeleteFunc(slices.Clone(promised), func(name string) bool {
		_, exists := slices.BinarySearch(now, name)
		return exists
	})
}

// TestStableNames: every name of a release exists. -update adds the names that are new, which
// belongs into the commit of a release; to take one away needs a new major version.
func TestStableNames(t *testing.T) {
	now := namesNow(t)
	text, err := os.ReadFile(stableFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	promised := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	if len(promised) < 1000 && !*update {
		t.Errorf("%s has only %d names", stableFile, len(promised))
	}
	for _, name := range missing(promised, now) {
		t.Errorf("%s: no longer exists, and a release promised it", name)
	}
	if *update {
		all := append(promised, now...)
		slices.Sort(all)
		must.Do(t, os.WriteFile(stableFile, []byte(strings.Join(slices.Compact(all), "\n")+"\n"), 0o644))
	}
	if lost := missing([]string{"claim drift-sign", "claim no-such"}, now); !slices.Equal(lost, []string{"claim no-such"}) {
		t.Errorf("missing: %q", lost)
	}
}

// TestStabilityPage: every test that STABILITY.md names exists in the package it names.
func TestStabilityPage(t *testing.T) {
	page := must.Get(os.ReadFile("STABILITY.md"))(t)
	rows := regexp.MustCompile("`(Test\\w+)` in `([^`]+)`").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Errorf("only %d tests are named", len(rows))
	}
	for _, row := range rows {
		files := must.Get(filepath.Glob(filepath.Join("..", "..", row[2], "*_test.go")))(t)
		if !slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "func "+row[1]+"(t *testing.T)")
		}) {
			t.Errorf("there is no %s in %s", row[1], row[2])
		}
	}
}
