package tables

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
)

// LevelTable shows every mechanism by which two engines can disagree, alone and
// at growing levels, and what its correction leaves.
func LevelTable(d *measure.LevelTable) *figure.Figure {
	t := head("levels", d.Checkpoint, d.Task, d.Seed)
	add := func(name figure.Cell, level string, g *measure.LevelGap, left figure.Cell) {
		t.Add(name, figure.Word(level), figure.Number(g.K3, 2), figure.Number(g.MeanAbsDlogp, 2),
			figure.Percent(g.FlipToken, 2), figure.Percent(g.Unequal, 1), left)
	}
	for _, m := range d.Mechanisms {
		for i := range m.Levels {
			name := figure.Word("")
			if i == 0 {
				name = figure.Word(m.Mechanism).As(figure.Strong)
			}
			add(name, m.Levels[i].Level, &m.Levels[i], figure.Word(""))
		}
		if m.Correction != nil {
			add(figure.Word(""), "correction: "+m.Correction.Name, &m.Correction.LevelGap, figure.Percent(m.Correction.Left, 0))
		}
	}
	return t
}

// LevelReading lists, below the table, what the levels of each mechanism are.
func LevelReading(d *measure.LevelTable) *figure.Figure {
	t := head("level settings")
	for _, m := range d.Mechanisms {
		t.Add(figure.Word(m.Mechanism).As(figure.Strong), figure.Word(m.About),
			figure.Word(strings.Join(m.Levels[len(m.Levels)-1].Set, "  ")).As(figure.Muted))
	}
	return t
}

// LevelBars draws k3 at the lowest and the highest level of each mechanism and, at the
// highest, with its correction; the mechanism with the largest mismatch first.
func LevelBars(d *measure.LevelTable) *figure.Figure {
	b := &figure.Figure{Kind: figure.Bars, Title: "Each mechanism alone", Y: figure.Axis{Label: "k3 (nats per token)", Log: true},
		Note: "k3 at the lowest and the highest level, and at the highest with the mechanism's correction. A missing bar is a k3 of exactly zero."}
	low, high, corrected := figure.Series{Name: "lowest level"}, figure.Series{Name: "highest level"}, figure.Series{Name: "with its correction"}
	largest := func(m measure.LevelResponse) float64 { return m.Levels[len(m.Levels)-1].K3 }
	sorted := slices.SortedStableFunc(slices.Values(d.Mechanisms), func(m, n measure.LevelResponse) int { return cmp.Compare(largest(n), largest(m)) })
	for _, m := range sorted {
		b.Labels = append(b.Labels, m.Mechanism)
		low.Y = append(low.Y, m.Levels[1].K3)
		high.Y = append(high.Y, largest(m))
		left := math.NaN()
		if m.Correction != nil {
			left = m.Correction.K3
		}
		corrected.Y = append(corrected.Y, left)
	}
	b.Series = []figure.Series{low, high, corrected}
	return b
}
