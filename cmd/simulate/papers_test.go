package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study/sources"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// TestPublishedPapers: the published list is what the program says now.
func TestPublishedPapers(t *testing.T) {
	checkPublished(t, "papers.md", sources.PapersTable(sources.Papers()).Markdown())
}

// checkPublished holds a page of results/published to what the program makes now, or writes it with -update.
func checkPublished(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join("..", "..", "results", "published", name)
	if *update {
		must.Do(t, os.WriteFile(path, []byte(want), 0o644))
	}
	got := must.Get(os.ReadFile(path))(t)
	if string(got) != want {
		t.Errorf("results/published/%s is not what the program has: go test ./cmd/simulate -run %s -update", name, t.Name())
	}
}

// TestPapersAreComplete: every method whose source names an arXiv id is in the list, once for each id.
func TestPapersAreComplete(t *testing.T) {
	list := sources.Papers()
	for i := 1; i < len(list); i++ {
		if list[i-1].ID >= list[i].ID {
			t.Errorf("%s stands before %s", list[i-1].ID, list[i].ID)
		}
	}
	for _, m := range recipe.Methods() {
		for _, id := range sources.ArXiv.FindAllString(m.Source, -1) {
			at := slices.IndexFunc(list, func(p sources.Paper) bool { return p.ID == id })
			if at < 0 || !slices.Contains(list[at].Methods, m.Name) {
				t.Errorf("%s cites %s, which does not list it: %s", m.Name, id, strings.TrimSpace(m.Source))
			}
		}
	}
}
