package study

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// TestPublishStoresOnce: an outcome that two studies of a map share is stored by the first; both folders have all of theirs, and what is
// published again has the same bytes.
func TestPublishStoresOnce(t *testing.T) {
	runs, dir := t.TempDir(), t.TempDir()
	var grids []*Grid
	var from []string
	for name, method := range map[string]string{"first": "{name: tis, set: {correction: {weights: {name: token_tis, cap: 2}}}}", "second": "{name: fp8, set: {rollout: {numerics: fp8-w8a8}}}"} {
		g := gridOf(t, strings.NewReplacer("NAME", name, "{name: METHOD}", method).Replace(climbing))
		sweepInto(t, g, Options{Dir: filepath.Join(runs, name)})
		grids, from = append(grids, g), append(from, filepath.Join(runs, name))
	}
	slices.SortFunc(grids, func(a, b *Grid) int { return strings.Compare(a.Plan.Name, b.Plan.Name) })
	must.Do(t, PublishMap(dir, grids, from))
	published := filesOf(t, dir)
	for name, want := range map[string]int{"first": 0, "second": 2} {
		own := must.Get(record.ParseCells(record.PackedCells, []byte(published[filepath.Join(name, record.PackedCells)])))(t)
		all := must.Get(record.ReadCells(filepath.Join(dir, name), must.Get(record.ReadSums(filepath.Join(dir, name)))(t)))(t)
		elsewhere := 0
		for _, key := range own.Keys() {
			if own.Get(key).In == "first" && own.Get(key).Outcome == nil {
				elsewhere++
			}
			if all.Get(key).Outcome == nil {
				t.Errorf("%s: no outcome of %s", name, key)
			}
		}
		if elsewhere < want || (elsewhere > 0) != (want > 0) || elsewhere == len(own.Keys()) {
			t.Errorf("%s: %d of %d outcomes stand elsewhere", name, elsewhere, len(own.Keys()))
		}
	}
	must.Do(t, PublishMap(dir, grids, nil))
	if again := filesOf(t, dir); !maps.Equal(again, published) {
		t.Error("what is published again differs")
	}
}
