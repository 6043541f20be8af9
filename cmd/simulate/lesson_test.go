package main

import (
	"slices"
	"strings"
	"testing"

	"driftlab/model"
	"driftlab/results/figure"
	"driftlab/results/lab"
	"driftlab/trainer/recipe"
)

// TestLessonsCanRun: every value of every control gives a live run that is a recipe, and
// a picture; the free tab's recipes are shipped and need no other model than the page has.
func TestLessonsCanRun(t *testing.T) {
	d := lab.Load()
	for i := range d.Lessons {
		l := &d.Lessons[i]
		for _, k := range l.Controls {
			for _, o := range k.Options {
				chosen, err := l.Choose([]string{k.Key + "=" + o.Value})
				if err != nil {
					t.Errorf("%s: %v", l.Name, err)
				}
				if len(figure.Matching(l.Data.Panels, chosen)) == 0 {
					t.Errorf("%s with %s=%s shows nothing", l.Name, k.Key, o.Value)
				}
				if l.Live == nil {
					continue
				}
				set := l.Assignments(chosen)
				if _, err := recipe.Load(l.Live.Recipe, set...); err != nil || strings.Contains(strings.Join(set, " "), "{"+k.Key+"}") {
					t.Errorf("%s with %s=%s: %q: %v", l.Name, k.Key, o.Value, set, err)
				}
			}
		}
		if err := wrong(strings.Fields(l.Command)[1:]); err != nil {
			t.Errorf("%s: %s: %v", l.Name, l.Command, err)
		}
	}
	for _, r := range d.Recipes {
		loaded, err := recipe.Load(r.Name)
		if err != nil || loaded.Checkpoint != "chain-base" || !slices.Contains(model.Shipped(), loaded.Checkpoint) {
			t.Errorf("%s from %s: %v", r.Name, loaded.Checkpoint, err)
		}
	}
}
