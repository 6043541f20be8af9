package measure

import (
	"context"
	"flag"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// TestLevels turns each mechanism up in one engine, everything else being equal:
// the gap is exactly zero at level zero, and grows with the level where levels have
// an order. Each correction leaves nothing, or less than there was.
func TestLevels(t *testing.T) {
	done := 0
	r := measured(t)
	must.Do(t, r.Set("rollout.prompts=3"))
	var only []string // with -exhaustive all
	for i, name := range Mechanisms() {
		if i%3 == 0 && flag.Lookup("exhaustive").Value.String() != "true" {
			only = append(only, name)
		}
	}
	rows := must.Get(levelRows(only))(t)
	table := must.Get(Levels(context.Background(), LevelRequest{Recipe: r, Only: only, Progress: func(d, _ int) { done = d }}))(t)
	if len(table.Mechanisms) != len(rows) || done != len(rows) || table.Checkpoint != "chain-base" || table.Task != "chain" || table.Seed != 1 {
		t.Fatalf("%d mechanisms of %d, %d done: %s, %s, %d", len(table.Mechanisms), len(rows), done, table.Checkpoint, table.Task, table.Seed)
	}
	for i, m := range table.Mechanisms {
		if g := &m.Levels[0]; !g.Zero() || g.Tokens < 100 {
			t.Errorf("%s at level zero: %+v", m.Mechanism, g)
		}
		for i := range m.Levels[1:] {
			before, g := m.Levels[i], m.Levels[i+1]
			t.Logf("%s, %s: mean |dlogp| %.3g, k3 %.3g, flips %.3g", m.Mechanism, g.Level, g.MeanAbsDlogp, g.K3, g.FlipToken)
			if g.MeanAbsDlogp <= 0 || g.K3 <= 0 {
				t.Errorf("%s, %s: no gap: %+v", m.Mechanism, g.Level, g)
			}
			if m.Ordered && g.MeanAbsDlogp <= before.MeanAbsDlogp {
				t.Errorf("%s, %s: mean |dlogp| %g, at the level before %g", m.Mechanism, g.Level, g.MeanAbsDlogp, before.MeanAbsDlogp)
			}
		}
		correction, last := m.Correction, m.Levels[len(m.Levels)-1]
		if correction == nil {
			continue
		}
		t.Logf("%s, %s: mean |dlogp| %.3g, k3 %.3g: %.2g left", m.Mechanism, correction.Name, correction.MeanAbsDlogp, correction.K3, correction.Left)
		switch partial := rows[i].Correction.Partial; {
		case !partial && !correction.Zero():
			t.Errorf("%s: %s leaves %+v", m.Mechanism, correction.Name, correction)
		case partial && (correction.Zero() || correction.K3 >= last.K3 || correction.Left != correction.K3/last.K3):
			t.Errorf("%s: %s leaves %+v of %+v", m.Mechanism, correction.Name, correction, last)
		}
	}
}

// TestLevelsOnly measures what was asked for, and refuses what it does not know.
func TestLevelsOnly(t *testing.T) {
	r := measured(t)
	// None of this may act: a level is alone.
	must.Do(t, r.Set("rollout.numerics=fp8-all", "rollout.top_p=0.7", "rollout.temperature=0.5", "rollout.slots=3"))
	table, err := Levels(context.Background(), LevelRequest{Recipe: r, Only: []string{"head"}})
	if err != nil || len(table.Mechanisms) != 1 || table.Mechanisms[0].Mechanism != "head" {
		t.Fatalf("%v, %+v", err, table)
	}
	_, err = Levels(context.Background(), LevelRequest{Recipe: r, Only: []string{"heads"}})
	if err == nil || !strings.Contains(err.Error(), `did you mean "head"?`) {
		t.Errorf("error %v", err)
	}
	if names := Mechanisms(); len(names) != len(levelTable()) || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("names %q", names)
	}
}
