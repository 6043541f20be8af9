package experiments

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/results"
)

// DoseTable shows every mechanism by which two engines can disagree, alone and
// at growing doses, and what its cure leaves.
func DoseTable(d *measure.DoseTable) *results.Table {
	t := &results.Table{
		Title: fmt.Sprintf("Dose-response of each mechanism, alone: %s, task %s, seed %d", d.Checkpoint, d.Task, d.Seed),
		Columns: []results.TableColumn{{Name: "mechanism"}, {Name: "dose"}, right("k3", "nats"), right("mean |Δ|", ""),
			right("tokens flipped", ""), right("unequal", ""), right("k3 left", "")},
		Note: "Equal weights, no training; Δ is the difference of log-probs. The first dose of each mechanism is zero, where both engines give the " +
			"same bits; k3 left is the share that the cure leaves of the last dose.",
	}
	add := func(name results.Cell, dose string, g *measure.DoseGap, left results.Cell) {
		t.Add(name, results.Word(dose), results.Number(g.K3, 2), results.Number(g.MeanAbsDlogp, 2),
			results.Percent(g.FlipToken, 2), results.Percent(g.Unequal, 1), left)
	}
	for _, m := range d.Mechanisms {
		for i := range m.Doses {
			name := results.Word("")
			if i == 0 {
				name = results.Word(m.Mechanism).As(results.Strong)
			}
			add(name, m.Doses[i].Dose, &m.Doses[i], results.Word(""))
		}
		if m.Cure != nil {
			add(results.Word(""), "cure: "+m.Cure.Name, &m.Cure.DoseGap, results.Percent(m.Cure.Left, 0))
		}
	}
	return t
}

// DoseReading lists, below the table, what the doses of each mechanism are.
func DoseReading(d *measure.DoseTable) *results.Table {
	t := &results.Table{Title: "What the doses are, and how to set the largest",
		Columns: []results.TableColumn{{Name: "mechanism"}, {Name: "doses"}, {Name: "--set, largest dose"}}}
	for _, m := range d.Mechanisms {
		t.Add(results.Word(m.Mechanism).As(results.Strong), results.Word(m.About),
			results.Word(strings.Join(m.Doses[len(m.Doses)-1].Set, "  ")).As(results.Muted))
	}
	return t
}

// DoseBars draws the smallest and the largest dose of each mechanism and what
// the cure leaves of the latter, the mechanism with the largest gap first.
func DoseBars(d *measure.DoseTable) *results.Bars {
	b := &results.Bars{Title: "Each mechanism alone", ValueLabel: "k3 (nats per token)", Log: true}
	low, high, cured := results.BarGroup{Name: "smallest dose"}, results.BarGroup{Name: "largest dose"}, results.BarGroup{Name: "after its cure"}
	largest := func(m measure.DoseResponse) float64 { return m.Doses[len(m.Doses)-1].K3 }
	sorted := slices.SortedStableFunc(slices.Values(d.Mechanisms), func(m, n measure.DoseResponse) int { return cmp.Compare(largest(n), largest(m)) })
	for _, m := range sorted {
		b.Categories = append(b.Categories, m.Mechanism)
		low.Value = append(low.Value, m.Doses[1].K3)
		high.Value = append(high.Value, largest(m))
		left := math.NaN()
		if m.Cure != nil {
			left = m.Cure.K3
		}
		cured.Value = append(cured.Value, left)
	}
	b.Groups = []results.BarGroup{low, high, cured}
	return b
}
