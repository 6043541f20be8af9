package experiments

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
)

// DoseTable shows every mechanism by which two engines can disagree, alone and
// at growing levels, and what its correction leaves.
func DoseTable(d *measure.DoseTable) *figure.Figure {
	t := &figure.Figure{
		Kind:  figure.Table,
		Title: fmt.Sprintf("Mismatch of each mechanism alone, by level: %s, task %s, seed %d", d.Checkpoint, d.Task, d.Seed),
		Columns: []figure.Column{{Name: "mechanism"}, {Name: "level"}, right("k3", "nats"), right("mean |Δ|", ""),
			right("tokens flipped", ""), right("unequal", ""), right("k3 left", "")},
		Note: "Equal weights, no training; Δ is the difference of log-probs. The first level of each mechanism is zero, where both engines give the " +
			"same bits; k3 left is the share of k3 at the last level that remains with the correction.",
	}
	add := func(name figure.Cell, dose string, g *measure.DoseGap, left figure.Cell) {
		t.Add(name, figure.Word(dose), figure.Number(g.K3, 2), figure.Number(g.MeanAbsDlogp, 2),
			figure.Percent(g.FlipToken, 2), figure.Percent(g.Unequal, 1), left)
	}
	for _, m := range d.Mechanisms {
		for i := range m.Doses {
			name := figure.Word("")
			if i == 0 {
				name = figure.Word(m.Mechanism).As(figure.Strong)
			}
			add(name, m.Doses[i].Dose, &m.Doses[i], figure.Word(""))
		}
		if m.Cure != nil {
			add(figure.Word(""), "correction: "+m.Cure.Name, &m.Cure.DoseGap, figure.Percent(m.Cure.Left, 0))
		}
	}
	return t
}

// DoseReading lists, below the table, what the levels of each mechanism are.
func DoseReading(d *measure.DoseTable) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "The levels of each mechanism, and the setting of the highest",
		Columns: []figure.Column{{Name: "mechanism"}, {Name: "levels"}, {Name: "--set, highest level"}}}
	for _, m := range d.Mechanisms {
		t.Add(figure.Word(m.Mechanism).As(figure.Strong), figure.Word(m.About),
			figure.Word(strings.Join(m.Doses[len(m.Doses)-1].Set, "  ")).As(figure.Muted))
	}
	return t
}

// DoseBars draws k3 at the lowest and the highest level of each mechanism and, at the
// highest, with its correction; the mechanism with the largest mismatch first.
func DoseBars(d *measure.DoseTable) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: "Each mechanism alone", Y: figure.Axis{Label: "k3 (nats per token)", Log: true},
		Note: "k3 at the lowest and the highest level, and at the highest with the mechanism's correction. A missing bar is a k3 of exactly zero."}
	low, high, cured := figure.Series{Name: "lowest level"}, figure.Series{Name: "highest level"}, figure.Series{Name: "with its correction"}
	largest := func(m measure.DoseResponse) float64 { return m.Doses[len(m.Doses)-1].K3 }
	sorted := slices.SortedStableFunc(slices.Values(d.Mechanisms), func(m, n measure.DoseResponse) int { return cmp.Compare(largest(n), largest(m)) })
	for _, m := range sorted {
		b.Labels = append(b.Labels, m.Mechanism)
		low.Y = append(low.Y, m.Doses[1].K3)
		high.Y = append(high.Y, largest(m))
		left := math.NaN()
		if m.Cure != nil {
			left = m.Cure.K3
		}
		cured.Y = append(cured.Y, left)
	}
	b.Series = []figure.Series{low, high, cured}
	return b
}
