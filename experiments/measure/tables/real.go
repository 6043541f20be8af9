package tables

import (
	"fmt"

	"driftlab/experiments/measure"
	"driftlab/results/figure"
	"driftlab/results/stats"
)

// RealTable sets real engines next to their emulation: both gaps, their ratio and their
// correlation token by token.
func RealTable(gaps []*measure.RealGap) *figure.Figure {
	t := head("real engines")
	for _, g := range gaps {
		t.Add(figure.Word(g.Engine).As(figure.Strong), figure.Word(g.Checkpoint), figure.Word(fmt.Sprint(g.Tokens)),
			figure.Number(g.Real.K3, 2), figure.Number(g.Emulated.K3, 2), withInterval(g.K3Ratio, 3), figure.Number(g.Real.P99, 2), figure.Number(g.Emulated.P99, 2),
			withInterval(g.Correlation, 4), figure.Percent(g.Within, 1))
	}
	return t
}

func withInterval(i stats.Interval, digits int) figure.Cell {
	return figure.Word(fmt.Sprintf("%.*f (%.*f to %.*f)", digits, i.Estimate, digits, i.Low, digits, i.High))
}

// RealPlot draws the emulated d of each token against the real one, a dot for each: on the
// diagonal where they are equal.
func RealPlot(engine string, gaps []*measure.RealGap) *figure.Figure {
	f := &figure.Figure{Kind: figure.Dots, Title: engine + ": emulated d against real d, token by token",
		X: figure.Axis{Label: "real d (nats)"}, Y: figure.Axis{Label: "emulated d (nats)"}}
	for _, g := range gaps {
		if g.Engine != engine {
			continue
		}
		s := figure.Series{Name: g.Checkpoint}
		for _, d := range g.D {
			s.X, s.Y = append(s.X, d[0]), append(s.Y, d[1])
		}
		f.Series = append(f.Series, s)
	}
	return f
}
