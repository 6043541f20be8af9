package measurements

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"testing"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

var exhaustive = flag.Bool("exhaustive", false, "measure a third time in a new folder, as in nightly tests")

// TestRungsCoverTheLadder: the axes run as far as the setup says, every rung but a
// corner lies on one axis, or on both of the experts', and each is a recipe.
func TestRungsCoverTheLadder(t *testing.T) {
	want := map[modelFamily]map[string][2]int{
		moeFamily:   {"depth": {2, 16}, "width": {32, 256}, "vocabulary": {32, 4096}, "length": {61, 2051}, "experts": {8, 64}, "experts visited": {2, 8}},
		denseFamily: {"depth": {2, 16}, "width": {32, 256}, "vocabulary": {32, 4096}, "length": {61, 1031}},
	}
	seen := map[string]bool{}
	corners := map[modelFamily]int{}
	got := map[modelFamily]map[string][2]int{moeFamily: {}, denseFamily: {}}
	for _, r := range allRungs() {
		if seen[r.Name()] {
			t.Errorf("two rungs %s", r.Name())
		}
		seen[r.Name()] = true
		off := 0
		for _, a := range r.Family.axes() {
			n := *a.of(&r.Size)
			if n != *a.of(&baseSize) {
				off++
			}
			if r.Corner {
				continue
			}
			ends, ok := got[r.Family][a.name]
			if !ok {
				ends = [2]int{n, n}
			}
			got[r.Family][a.name] = [2]int{min(ends[0], n), max(ends[1], n)}
		}
		if r.Corner {
			corners[r.Family]++
			if off != len(r.Family.axes()) {
				t.Errorf("the corner %s differs along %d axes", r.Name(), off)
			}
		} else if off > 1 && !(off == 2 && r.Size.TopK != baseSize.TopK) {
			t.Errorf("%s differs along %d axes", r.Name(), off)
		}
		c, err := recipe.Load("chain-base", r.changes()...)
		if err != nil {
			t.Errorf("%s: %v", r.Name(), err)
			continue
		}
		if m := c.Resolved().Model; m.Layers != r.Size.Layers || m.DModel != r.Size.Width || m.Vocab != r.Size.Vocabulary || m.Experts != r.Size.Experts || m.TopK != r.Size.TopK {
			t.Errorf("%s has the model %+v", r.Name(), m)
		}
		if task := r.prose(); lengthOf(task.Difficulty[1]) != r.Size.Length || math.Abs(task.Entropy()-1.15) > 0.005 {
			t.Errorf("%s: answers of %d tokens, words of %.4f nats", r.Name(), lengthOf(task.Difficulty[1]), task.Entropy())
		}
	}
	for f, sizeAxes := range want {
		for name, ends := range sizeAxes {
			if got[f][name] != ends {
				t.Errorf("%s: %s from %v, want %v", f, name, got[f][name], ends)
			}
		}
		if corners[f] != 1 {
			t.Errorf("%s has %d corners", f, corners[f])
		}
	}
}

// TestEveryRungHasModels: of the ten seeds of a base, each rung has as many models
// as its share says, whichever base.
func TestEveryRungHasModels(t *testing.T) {
	for _, r := range allRungs() {
		for _, first := range []uint64{1, 1001} {
			n := 0
			for seed := range uint64(10) {
				if (first+seed)%uint64(r.Every) == 0 {
					n++
				}
			}
			if n < 2 || n < 10/r.Every {
				t.Errorf("%s has %d models from seed %d", r.Name(), n, first)
			}
		}
	}
}

// TestMeasureIsDeterministic: the tiny ladder gives the same bytes on one core and
// on two, with models made anew and read back.
func TestMeasureIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	run := func(dir string, cores int) string {
		e := &claim.Env{Seed: 7, Size: claim.Tiny, Cache: claim.NewCache(dir), Cores: func() int { return cores }}
		o := new(claim.Observation)
		must.Do(t, e.Do(context.Background(), func() { new(gapLadder).Measure(e, o) }))
		text := must.Get(json.Marshal(o))(t)
		return string(text)
	}
	first := run(dir, 1)
	if again := run(dir, 2); again != first {
		t.Error("models that are read back measure otherwise")
	}
	if !*exhaustive {
		return
	}
	if anew := run(t.TempDir(), 2); anew != first {
		t.Error("two cores measure otherwise")
	}
}
