package results

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"driftlab/results/figure"
)

// dots draws bars on a log axis, where a bar's length would mean nothing: a dot
// for each value, its whisker, and a column of their own for exact zeros.
type dots struct {
	bars
	theme theme
}

// mostFigures is how many groups have a figure next to every dot; with more
// there is one for the highest dot of a row.
const mostFigures = 2

// rowSize is the height of a group's place in a row, and the gap between rows.
func (b bars) rowSize() (height, gap float64) {
	switch {
	case !b.Y.Log:
		return 14, 8
	case len(b.Series) <= mostFigures:
		return 11, 7
	}
	return 5, 10
}

// zeros reports whether an exact zero is among the values of a log axis.
func (b bars) zeros() bool {
	for _, g := range b.Series {
		for i := range b.Labels {
			if b.Y.Log && at(g.Y, i) == 0 {
				return true
			}
		}
	}
	return false
}

func (d *dots) Plot(c draw.Canvas, p *plot.Plot) {
	scaled, ty := p.Transforms(&c)
	tx := func(v float64) vg.Length { return scaled(clamp(v, p.X.Min, p.X.Max)) }
	height, _ := d.rowSize()
	zero := c.Min.X
	if d.zeros() {
		edge := tx(d.floor())
		zero = (c.Min.X + edge) / 2
		c.StrokeLine2(draw.LineStyle{Color: d.theme.muted, Width: 0.75, Dashes: []vg.Length{1.5, 2.5}}, edge, c.Min.Y, edge, c.Max.Y)
	}
	for i := range d.Labels {
		row := ty(float64(len(d.Labels) - 1 - i))
		c.StrokeLine2(draw.LineStyle{Color: d.theme.grid, Width: 0.6}, c.Min.X, row, c.Max.X, row)
		highest, farthest := math.NaN(), zero
		for k, g := range d.Series {
			v := at(g.Y, i)
			if math.IsNaN(v) {
				continue
			}
			y := row + vg.Length(height*(float64(float64(len(d.Series)-1)/2)-float64(k)))
			dot := zero
			if v > 0 {
				dot = tx(v)
			}
			end := dot
			if low, high := at(g.Low, i), at(g.High, i); finite(low) && finite(high) && high > 0 && low < high {
				end = max(end, tx(high))
				c.StrokeLine2(draw.LineStyle{Color: armColor(k), Width: 1}, tx(low), y, tx(high), y)
			}
			c.DrawGlyph(draw.GlyphStyle{Color: armColor(k), Radius: 3, Shape: draw.CircleGlyph{}}, vg.Point{X: dot, Y: y})
			if len(d.Series) <= mostFigures {
				d.number(c, v, end, y)
			} else if !(v <= highest) {
				highest = v
			}
			farthest = max(farthest, end)
		}
		if len(d.Series) > mostFigures && !math.IsNaN(highest) {
			d.number(c, highest, farthest, row)
		}
	}
}

// number writes a value right of its dot.
func (d *dots) number(c draw.Canvas, v float64, x, y vg.Length) {
	style := textStyle(tickSize, d.theme.ink)
	style.YAlign = draw.YCenter
	text := figure.FormatNumber(v, 2)
	if v == 0 {
		text = "exactly 0"
	}
	c.FillText(style, vg.Point{X: x + 6, Y: y}, text)
}
