package main

import (
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// TestFrameworkPages: every name of a framework stands for a method, an aggregation or a parameter here, every key has a
// field of a recipe or a reason.
func TestFrameworkPages(t *testing.T) {
	fields := map[string]string{"loss": "loss", "advantage": "advantage", "kl": "kl"}
	for _, name := range foreign.Frameworks() {
		p := pageOf(name)
		if len(p.Words) == 0 || len(p.Keys) == 0 {
			t.Errorf("%s: %d names, %d keys", name, len(p.Words), len(p.Keys))
		}
		for _, w := range p.Words {
			field, method := fields[w.Kind]
			if method && !slices.ContainsFunc(recipe.Methods(), func(m recipe.Method) bool { return m.Field == field && m.Name == w.Ours }) {
				t.Errorf("%s: %s %q stands for %q, which is none", name, w.Kind, w.Theirs, w.Ours)
			}
		}
		for _, k := range p.Keys {
			if (k.Field == "") == (k.Why == "") {
				t.Errorf("%s: key %s has field %q and reason %q: it needs one of them", name, k.Key, k.Field, k.Why)
			}
		}
	}
	if err := (&methodsCmd{Framework: "verll"}).framework(new(app)); err == nil || !strings.Contains(err.Error(), `"verl"`) {
		t.Errorf("a misspelt framework: %v", err)
	}
}
