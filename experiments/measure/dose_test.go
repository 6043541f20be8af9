package measure

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestDoses turns each mechanism up in one engine, everything else being equal:
// the gap is exactly zero at dose zero, and grows with the dose where doses have
// an order. Each cure leaves nothing, or less than there was.
func TestDoses(t *testing.T) {
	done := 0
	table, err := Doses(context.Background(), DoseRequest{Recipe: measured(t), Progress: func(d, _ int) { done = d }})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Mechanisms) != len(doseTable) || done != len(doseTable) || table.Checkpoint != "chain-base" || table.Task != "chain" || table.Seed != 1 {
		t.Fatalf("%d mechanisms of %d, %d done: %s, %s, %d", len(table.Mechanisms), len(doseTable), done, table.Checkpoint, table.Task, table.Seed)
	}
	for i, m := range table.Mechanisms {
		if g := &m.Doses[0]; !g.Zero() || g.Tokens < 100 {
			t.Errorf("%s at dose zero: %+v", m.Mechanism, g)
		}
		for i := range m.Doses[1:] {
			before, g := m.Doses[i], m.Doses[i+1]
			t.Logf("%s, %s: mean |dlogp| %.3g, k3 %.3g, flips %.3g", m.Mechanism, g.Dose, g.MeanAbsDlogp, g.K3, g.FlipToken)
			if g.MeanAbsDlogp <= 0 || g.K3 <= 0 {
				t.Errorf("%s, %s: no gap: %+v", m.Mechanism, g.Dose, g)
			}
			if m.Ordered && g.MeanAbsDlogp <= before.MeanAbsDlogp {
				t.Errorf("%s, %s: mean |dlogp| %g, at the dose before %g", m.Mechanism, g.Dose, g.MeanAbsDlogp, before.MeanAbsDlogp)
			}
		}
		cure, last := m.Cure, m.Doses[len(m.Doses)-1]
		if cure == nil {
			continue
		}
		t.Logf("%s, %s: mean |dlogp| %.3g, k3 %.3g: %.2g left", m.Mechanism, cure.Name, cure.MeanAbsDlogp, cure.K3, cure.Left)
		switch partial := doseTable[i].cure.partial; {
		case !partial && !cure.Zero():
			t.Errorf("%s: %s leaves %+v", m.Mechanism, cure.Name, cure)
		case partial && (cure.Zero() || cure.K3 >= last.K3 || cure.Left != cure.K3/last.K3):
			t.Errorf("%s: %s leaves %+v of %+v", m.Mechanism, cure.Name, cure, last)
		}
	}
}

// TestDosesOnly measures what was asked for, and refuses what it does not know.
func TestDosesOnly(t *testing.T) {
	r := measured(t)
	// None of this may act: a dose is alone.
	if err := r.Set("rollout.numerics=fp8-all", "rollout.top_p=0.7", "rollout.temperature=0.5", "rollout.slots=3"); err != nil {
		t.Fatal(err)
	}
	table, err := Doses(context.Background(), DoseRequest{Recipe: r, Only: []string{"head"}})
	if err != nil || len(table.Mechanisms) != 1 || table.Mechanisms[0].Mechanism != "head" {
		t.Fatalf("%v, %+v", err, table)
	}
	_, err = Doses(context.Background(), DoseRequest{Recipe: r, Only: []string{"heads"}})
	if err == nil || !strings.Contains(err.Error(), `did you mean "head"?`) {
		t.Errorf("error %v", err)
	}
	if names := Mechanisms(); len(names) != len(doseTable) || len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Errorf("names %q", names)
	}
}
