package main

import (
	"slices"
	"strings"
	"testing"

	"driftlab/model"
	"driftlab/results/lab"
	"driftlab/results/lab/panel"
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
				if len(panel.Matching(l.Data.Panels, chosen)) == 0 {
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

// TestStripText: shades and crosses stand under their tokens.
func TestStripText(t *testing.T) {
	p := panel.Panel{Lines: []panel.Line{{Title: "one", Tokens: []panel.Token{{Text: "ab", Level: 2}, {Text: "c"}, {Text: "d", Level: 4, Cross: true}}}}}
	if got, want := stripText(p), "one\n  ab c d\n  :    ×\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCurveTable: many places are thinned, faint curves left out, a gap is empty.
func TestCurveTable(t *testing.T) {
	p := panel.Panel{Kind: panel.Lines, X: &panel.Axis{Label: "step"}, Y: &panel.Axis{}}
	long := panel.Series{Name: "long"}
	for i := range 30 {
		long.X, long.Y = append(long.X, float64(i)), append(long.Y, float64(i)/10)
	}
	p.Series = []panel.Series{long, {Name: "faint", Faint: true, X: []float64{0}, Y: []float64{1}}, {Name: "brief", X: []float64{0, 3}, Y: []float64{7, 8}}}
	table := curveTable(p)
	if len(table.Columns) != 3 || len(table.Rows) != 10 || table.Rows[1][0].Text != "3" || table.Rows[1][2].Text != "8.00" || table.Rows[2][2].Text != "" {
		t.Errorf("%d columns, rows %+v", len(table.Columns), table.Rows)
	}
}
