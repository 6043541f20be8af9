package results

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"driftlab/results/figure"
)

// nameStep is the distance between the names of two lines that end together.
const nameStep = labelSize + 2

// namesWidth is the width that the names of the lines need at their ends; 0 if
// the chart is better served by a legend: one line, names that would take more
// than a third of it, or more than fit below each other.
func (c *chart) namesWidth(width vg.Length) vg.Length {
	if c.Kind == figure.Dots || len(c.lines) < 2 || len(c.lines) > 10 || c.empty() != "" {
		return 0
	}
	style := textStyle(labelSize, nil)
	var names vg.Length
	for _, a := range c.lines {
		names = max(names, style.Width(a.Name))
	}
	if names += 10; names > width*0.36 {
		return 0
	}
	return names
}

// names writes the name of every line at its end, in its colour, moved apart
// where lines end together.
func (g *curves) names(c draw.Canvas, ty func(float64) vg.Length) {
	type ending struct {
		name string
		slot int
		y    vg.Length
	}
	var ends []ending
	for i, arm := range g.points {
		for k := len(arm) - 1; k >= 0; k-- {
			if g.drawable(arm[k].Mean) {
				y := min(max(ty(arm[k].Mean), c.Min.Y), c.Max.Y)
				ends = append(ends, ending{g.chart.lines[i].Name, g.chart.slot(i), y})
				break
			}
		}
	}
	// From the top down no name above its line's end, then back up from the floor.
	slices.SortStableFunc(ends, func(a, b ending) int { return cmp.Compare(b.y, a.y) })
	for i := 1; i < len(ends); i++ {
		ends[i].y = min(ends[i].y, ends[i-1].y-nameStep)
	}
	floor := c.Min.Y
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i].y = max(ends[i].y, floor)
		floor = ends[i].y + nameStep
	}
	for _, e := range ends {
		style := textStyle(labelSize, armColor(e.slot))
		style.YAlign = draw.YCenter
		c.FillText(style, vg.Point{X: c.Max.X + 6, Y: e.y}, e.name)
	}
}
