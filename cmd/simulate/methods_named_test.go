package main

import (
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"driftlab/experiments/table"
)

// Every name that the published table prints is explained by `simulate methods NAME`.
func TestPrintedNamesResolve(t *testing.T) {
	file, err := os.Open("../../results/published/table/table.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := printedNames()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range pages {
		known[p.Name] = true
	}
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	for _, row := range rows[1:] {
		for _, name := range []string{row[column["method"]], row[column["stressor"]]} {
			if known[name] {
				continue
			}
			known[name] = true
			if _, err := findMethods(name); err != nil {
				t.Error(err)
			}
		}
	}
}

// A setting's page has its line in a recipe, in frameworks and its effects.
func TestSettingPage(t *testing.T) {
	p := namedPage{Named: table.Named{Name: "sequence_tis-2", Kind: "setting", Recipe: []string{"correction.weights.name=sequence_tis", "correction.weights.cap=2"}}, Command: "simulate x"}
	if err := p.fill(); err != nil {
		t.Fatal(err)
	}
	effects, err := table.PublishedEffects()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Effects) != len(effects.Stressors) {
		t.Errorf("%d effects, want %d", len(p.Effects), len(effects.Stressors))
	}
	for _, want := range []string{"correction: {weights: {name: sequence_tis, cap: 2}}", "rollout_is: sequence, rollout_is_threshold: 2.0", "router4", "significantly better", "n = 10"} {
		if !strings.Contains(p.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, p.String())
		}
	}
}
