package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// budgetFile has the lines of Go that each package may have, without its tests.
const budgetFile = "testdata/stable/budget.txt"

// packageLines counts the lines of Go by package, without tests, in what git tracks.
func packageLines(t *testing.T) map[string]int {
	t.Helper()
	list := exec.Command("git", "ls-files", "*.go")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Skipf("no clone: %v", err)
	}
	lines := map[string]int{}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile("../../" + name)
		if os.IsNotExist(err) {
			continue // deleted and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		lines[path.Dir(name)] += bytes.Count(text, []byte("\n"))
	}
	return lines
}

// overBudget lists the packages that have more lines than their budget, or none.
func overBudget(lines, budget map[string]int) (over []string) {
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		if most, ok := budget[name]; !ok {
			over = append(over, fmt.Sprintf("%s: %d lines, and no budget", name, lines[name]))
		} else if lines[name] > most {
			over = append(over, fmt.Sprintf("%s: %d lines, %d more than its budget of %d", name, lines[name], lines[name]-most, most))
		}
	}
	return over
}

// TestBudget: no package has more lines of Go than its budget. The -update flag writes a
// budget of the lines that are there and 3 % more, in steps of 10.
func TestBudget(t *testing.T) {
	lines := packageLines(t)
	if *update {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(lines)) {
			fmt.Fprintf(&b, "%s %d\n", name, (lines[name]*103/100+9)/10*10)
		}
		must.Do(t, os.WriteFile(budgetFile, []byte(b.String()), 0o644))
	}
	text := must.Get(os.ReadFile(budgetFile))(t)
	budget := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var name string
		var most int
		if _, err := fmt.Sscan(line, &name, &most); err != nil {
			t.Fatalf("%s: %q: %v", budgetFile, line, err)
		}
		budget[name] = most
	}
	for _, fault := range overBudget(lines, budget) {
		t.Errorf("%s: delete what is double, or say in SCOPE.md what the package needs more lines for and run this test with -update", fault)
	}
	for name := range budget {
		if _, ok := lines[name]; !ok {
			t.Logf("%s has a budget and no file: -update removes it", name)
		}
	}
}

// TestBudgetNamesPackage: a package above its budget and one without a budget are named, a package within its budget is not.
func TestBudgetNamesPackage(t *testing.T) {
	got := overBudget(map[string]int{"a": 11, "b": 10, "c": 1}, map[string]int{"a": 10, "b": 10})
	want := []string{"a: 11 lines, 1 more than its budget of 10", "c: 1 lines, and no budget"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
