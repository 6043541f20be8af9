package main

import (
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/recipe/foreign"
)

// TestFrameworkPages: every framework whose configuration is read has a page, and every key on it a field of a recipe or
// a reason. What the names on it stand for is tested where they are.
func TestFrameworkPages(t *testing.T) {
	var pages []string
	for _, r := range foreign.Registries() {
		p := pageOf(r)
		pages = append(pages, p.Framework)
		if len(p.Registry) == 0 || len(p.Keys) == 0 {
			t.Errorf("%s: %d names, %d keys", p.Framework, len(p.Registry), len(p.Keys))
		}
		for _, k := range p.Keys {
			if (k.Field == "") == (k.Why == "") {
				t.Errorf("%s: key %s has field %q and reason %q: it needs one of them", p.Framework, k.Key, k.Field, k.Why)
			}
		}
		if text := p.tables()[0].Markdown(); !strings.Contains(text, "left out because") || !strings.Contains(text, "@") {
			t.Errorf("%s: the page has no reasons or no sources:\n%s", p.Framework, text)
		}
	}
	for _, name := range foreign.Frameworks() {
		if !slices.Contains(pages, name) {
			t.Errorf("%s has no page", name)
		}
	}
	if err := (&methodsCmd{Framework: "verll"}).framework(new(app)); err == nil || !strings.Contains(err.Error(), `"verl"`) {
		t.Errorf("a misspelt framework: %v", err)
	}
}
