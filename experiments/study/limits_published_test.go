package study

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
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

// climbing is a study of milliseconds over a ladder of two rates: equal engines without a correction, and with a method.
const climbing = `
name: NAME
title: Tiny
base: headline
set: {steps: 4, eval: {every: 2, prompts: 4}, rollout: {prompts: 2, group: 2, max_tokens: 8}}
seeds: [3, 4]
rates: {from: 5e-4, lowest: 5e-4, highest: 1e-3}
factors:
  - {name: stressor, values: [{name: equal}]}
  - {name: method, values: [{name: none}, {name: METHOD}]}
`

// TestPublishStoresOnce: an outcome that studies of a map share is stored by the first of them. Every folder has all of its outcomes, also
// where a study comes before the others later and base models are missing then; what is published again has the same bytes.
func TestPublishStoresOnce(t *testing.T) {
	runs, dir := t.TempDir(), t.TempDir()
	var grids []*Grid
	var from []string
	for _, name := range []string{"early", "first", "second"} {
		method := map[bool]string{true: "{name: fp8, set: {rollout: {numerics: fp8-w8a8}}}", false: "{name: tis, set: {correction: {weights: {name: token_tis, cap: 2}}}}"}[name == "second"]
		g := gridOf(t, strings.NewReplacer("NAME", name, "{name: METHOD}", method).Replace(climbing))
		sweepInto(t, g, Options{Dir: filepath.Join(runs, name)})
		grids, from = append(grids, g), append(from, filepath.Join(runs, name))
	}
	cellsOf := func(dir string) *record.Cells {
		return must.Get(record.ReadCells(dir, must.Get(record.ReadSums(dir))(t)))(t)
	}
	stored := func(name, in string) {
		t.Helper()
		path := filepath.Join(dir, name)
		own := must.Get(record.ParseCells(record.PackedCells, must.Get(os.ReadFile(filepath.Join(path, record.PackedCells)))(t)))(t)
		elsewhere, all, want := 0, cellsOf(path), cellsOf(filepath.Join(runs, name))
		for _, key := range own.Keys() {
			outcome := bytes.Clone(want.Get(key).Outcome)
			must.Do(t, shorten((*json.RawMessage)(&outcome)))
			if got := all.Get(key).Outcome; !bytes.Equal(got, outcome) {
				t.Errorf("%s: %s came to %s, want %s", name, key, got, outcome)
			}
			if at := own.Get(key).In; at == in && in != "" {
				elsewhere++
			} else if at != "" {
				t.Errorf("%s: %s stands in %q", name, key, at)
			}
		}
		if (elsewhere > 0) != (in != "") || len(own.Keys()) == 0 {
			t.Errorf("%s: %d of %d outcomes stand in %q", name, elsewhere, len(own.Keys()), in)
		}
	}
	must.Do(t, PublishMap(dir, grids[1:], from))
	stored("first", "")
	stored("second", "first")
	published := filesOf(t, dir)
	must.Do(t, PublishMap(dir, grids[1:], nil))
	if again := filesOf(t, dir); !maps.Equal(again, published) {
		t.Error("what is published again differs")
	}
	must.Do(t, PublishMap(dir, []*Grid{grids[0], grids[1], {Plan: grids[2].Plan}}, from))
	stored("early", "")
	stored("first", "early")
	stored("second", "early")
}
