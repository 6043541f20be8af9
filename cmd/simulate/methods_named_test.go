package main

import (
	"strings"
	"testing"
)

// TestPrintedNameHasAPage: settings, stressors, arms, studies and claims are found by name, and a setting has its lines in
// a recipe and in a framework.
func TestPrintedNameHasAPage(t *testing.T) {
	pages := printedNames()
	for name, want := range map[string]string{
		"sequence_tis-2": "correction: {weights: {name: sequence_tis, cap: 2}}",
		"token-tis-2":    "rollout_is: token, rollout_is_threshold: 2.0",
		"router-fp4":     "rollout: {numerics: {base: bf16, router: fp4_e2m1}}",
		"age16":          "schedule: {name: lag, k: 16}",
		"stability/gap":  "simulate study stability/gap",
		"tree-policy":    "simulate reproduce tree-policy --quick",
	} {
		found := 0
		for _, p := range pages {
			if p.Name != name {
				continue
			}
			found++
			p.fill()
			if !strings.Contains(textOf("named", p), want) {
				t.Errorf("the page lacks %q:\n%s", want, textOf("named", p))
			}
		}
		if found != 1 {
			t.Errorf("%s: %d pages", name, found)
		}
	}
}
