package study

import (
	"errors"
	"slices"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// With only, models of other points may be missing, and those keep the runs of an older index.
func TestOnlyNeedsNoOtherModel(t *testing.T) {
	p := must.Get(Parse("s.yaml", []byte("base: headline\nfactors:\n  - name: task\n    values:\n      - {name: a}\n      - {name: b, set: {checkpoint: missing}}\n")))(t)
	missing := errors.New("no such model")
	var present Loader = func(base string, changes []recipe.Change) (recipe.Recipe, error) {
		r, err := recipe.LoadChanged(base, changes...)
		if err == nil && r.Checkpoint == "missing" {
			err = missing
		}
		return r, err
	}
	if _, err := p.Grid(present); !errors.Is(err, missing) {
		t.Errorf("without only: %v", err)
	}
	only := must.Get(ParseCondition("task=a"))(t)
	if _, err := p.Grid(present, Condition{{"task", []string{"b"}}}); !errors.Is(err, missing) {
		t.Errorf("with the missing one asked for: %v", err)
	}
	g := must.Get(p.Grid(present, only))(t)
	old := g.Index()
	for i := range old.Arms {
		old.Arms[i].Keys = []string{"old"}
	}
	x := g.Index()
	x.keep(old, []Condition{only})
	if slices.Equal(x.Arms[0].Keys, []string{"old"}) || !slices.Equal(x.Arms[1].Keys, []string{"old"}) {
		t.Errorf("runs %v of the point asked for and %v of the other", x.Arms[0].Keys, x.Arms[1].Keys)
	}
	old.Seeds = []uint64{7}
	x = g.Index()
	if x.keep(old, []Condition{only}); slices.Equal(x.Arms[1].Keys, []string{"old"}) {
		t.Error("an index of other seeds was kept")
	}
}
