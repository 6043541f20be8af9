package study

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/results/stability"
)

// The published map is what its published runs come to, judged again.
func TestPublishedMapJudgedAgain(t *testing.T) {
	m := stability.Published()
	for _, s := range m.Studies {
		d := must.Get(Read(filepath.Join("../../results/published/stability", s.Name)))(t)
		want := must.Get(record.Document(&s))(t)
		got := must.Get(record.Document(d.Limits()))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the published figures are not those of the published runs", s.Name)
		}
	}
	if len(m.Studies) == 0 {
		t.Error("the published map has no study")
	}
}

// What is published of a study stays where its base models are missing, so that nothing can be taken of it.
func TestPublishWithoutModels(t *testing.T) {
	m, dir := stability.Map{}, t.TempDir()
	grids := []*Grid{{Plan: &Plan{Name: "absent"}}}
	must.Do(t, os.CopyFS(dir, os.DirFS("../../results/published/stability"))) // whose folders share outcomes
	for _, name := range []string{"gap", "size", "staleness"} {
		grids = append(grids, &Grid{Plan: &Plan{Name: name}})
	}
	must.Do(t, PublishMap(dir, grids, nil))
	must.Do(t, json.Unmarshal(must.Get(os.ReadFile(filepath.Join(dir, mapFile)))(t), &m))
	if len(m.Studies) != 3 {
		t.Fatalf("%d studies", len(m.Studies))
	}
	for i, name := range []string{"gap", "size", "staleness"} {
		if !bytes.Equal(must.Get(record.Document(&m.Studies[i]))(t), must.Get(record.Document(stability.Published().Study(name)))(t)) {
			t.Errorf("%s does not stay as it is", name)
		}
	}
}
