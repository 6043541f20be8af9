package results

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// size is that of a chart in points.
func (c *Chart) size() (w, h float64) { return 560, 320 }

// describe is the text alternative.
func (c *Chart) describe() string {
	d := c.Title
	for i, a := range c.Arms {
		if i == 0 {
			d += ". Lines: "
		} else {
			d += ", "
		}
		d += a.Name
	}
	return d + "."
}

// keys are the legend's entries.
func (c *Chart) keys() []key {
	var keys []key
	for i, a := range c.Arms {
		keys = append(keys, key{name: a.Name + c.undrawn(i), slot: c.slot(i)})
	}
	for _, r := range c.References {
		keys = append(keys, key{name: r.Name, plain: true})
	}
	return keys
}

// undrawn is a remark for the legend when nothing of an arm can be drawn, so
// that a matched run with a gap of exactly zero is not taken for a missing one.
func (c *Chart) undrawn(arm int) string {
	any, zero := false, true
	for _, s := range c.Arms[arm].Seeds {
		for _, y := range s.Y {
			if finite(y) {
				any = true
				zero = zero && y == 0
				if !c.LogY || y > 0 {
					return ""
				}
			}
		}
	}
	switch {
	case !any:
		return " (no data)"
	case zero:
		return " (exactly 0)"
	}
	return " (never above 0)"
}

// draw paints the chart with its own legend.
func (c *Chart) draw(canvas draw.Canvas, th theme) {
	canvas = c.heading(canvas, th)
	canvas.Max.Y -= drawKeys(canvas, c.keys(), th)
	c.axes(canvas, th)
}

// heading paints the title and the name of the y axis, which stands upright
// under the title rather than on its side, and returns what is left.
func (c *Chart) heading(canvas draw.Canvas, th theme) draw.Canvas {
	for _, line := range []struct {
		text  string
		size  float64
		color theme
		soft  bool
	}{{c.Title, titleSize, th, false}, {c.YLabel, labelSize, th, true}} {
		if line.text == "" {
			continue
		}
		style := textStyle(line.size, th.ink)
		if line.soft {
			style.Color = th.muted
		}
		canvas.FillText(style, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, line.text)
		canvas.Max.Y -= vg.Length(line.size) + 5
	}
	return canvas
}

// axes paints the axes and the curves.
func (c *Chart) axes(canvas draw.Canvas, th theme) {
	p := newPlot(th)
	lines := &curves{chart: c, theme: th}
	for i := range c.Arms {
		lines.points = append(lines.points, c.Arms[i].Points(c.Band))
	}
	xlow, xhigh, ylow, yhigh := lines.extent()
	p.X.Label.Text = c.XLabel
	p.X.Min, p.X.Max = xlow, xhigh
	p.Y.Min, p.Y.Max = ylow, yhigh
	p.X.Tick.Marker = plot.TickerFunc(linearTicks)
	p.Y.Scale = scale{c.LogY}
	p.Y.Tick.Marker = plot.TickerFunc(linearTicks)
	if c.LogY {
		p.Y.Tick.Marker = plot.TickerFunc(logTicks)
	}
	p.Add(&gridLines{th, true}, lines)
	// Room for the last tick label, which is centred under the axis' end.
	p.Draw(draw.Crop(canvas, 0, -14, 0, -2))
	if len(lines.points) == 0 {
		noData(canvas, th)
	}
}

// noData says that an empty figure is empty on purpose.
func noData(canvas draw.Canvas, th theme) {
	style := textStyle(labelSize, th.muted)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	canvas.FillText(style, canvas.Center(), "no data")
}

// gridLines draws a hairline across the plot at every tick of one axis.
type gridLines struct {
	theme      theme
	horizontal bool // the lines are horizontal: ticks of the y axis
}

// Plot implements plot.Plotter.
func (g *gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	style := draw.LineStyle{Color: g.theme.grid, Width: 0.6}
	tx, ty := p.Transforms(&c)
	axis := p.X
	if g.horizontal {
		axis = p.Y
	}
	for _, t := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
		if t.Value < axis.Min || t.Value > axis.Max {
			continue
		}
		if g.horizontal {
			c.StrokeLine2(style, c.Min.X, ty(t.Value), c.Max.X, ty(t.Value))
		} else {
			c.StrokeLine2(style, tx(t.Value), c.Min.Y, tx(t.Value), c.Max.Y)
		}
	}
}

// curves draws the arms of a chart: bands first, then references, then single
// seeds where there is no band, then means, so that no band covers a line.
type curves struct {
	chart  *Chart
	theme  theme
	points [][]Point // per arm
}

// extent is the range of both axes.
func (g *curves) extent() (xlow, xhigh, ylow, yhigh float64) {
	xlow, xhigh, ylow, yhigh = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	grow := func(v float64) {
		if g.drawable(v) {
			ylow, yhigh = math.Min(ylow, v), math.Max(yhigh, v)
		}
	}
	for _, arm := range g.points {
		for _, p := range arm {
			xlow, xhigh = math.Min(xlow, p.X), math.Max(xhigh, p.X)
			grow(p.Mean)
			grow(p.Low)
			grow(p.High)
		}
	}
	for _, r := range g.chart.References {
		grow(r.Y)
	}
	xlow, xhigh = spanOf(xlow, xhigh)
	if g.chart.YRange != [2]float64{} {
		return xlow, xhigh, g.chart.YRange[0], g.chart.YRange[1]
	}
	ylow, yhigh = axisRange(ylow, yhigh, g.chart.LogY)
	return xlow, xhigh, ylow, yhigh
}

// drawable reports whether the y axis can show v.
func (g *curves) drawable(v float64) bool { return finite(v) && (!g.chart.LogY || v > 0) }

// Plot implements plot.Plotter.
func (g *curves) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	haze := uint8(0x30)
	if len(g.points) > 4 {
		haze = 0x1A // many bands on top of each other turn to mud
	}
	for i, arm := range g.points {
		fill := faded(armColor(g.chart.slot(i)), haze)
		g.runs(arm, func(q Point) bool { return g.drawable(q.High) && finite(q.Low) }, func(run []Point) {
			outline := make([]vg.Point, 0, 2*len(run))
			for _, q := range run {
				outline = append(outline, vg.Point{X: tx(q.X), Y: ty(q.High)})
			}
			for k := len(run) - 1; k >= 0; k-- {
				low := run[k].Low
				if !g.drawable(low) {
					low = p.Y.Min // down to the floor of a log axis
				}
				outline = append(outline, vg.Point{X: tx(run[k].X), Y: ty(low)})
			}
			c.FillPolygon(fill, c.ClipPolygonXY(outline))
		})
	}
	for _, r := range g.chart.References {
		if g.drawable(r.Y) && r.Y >= p.Y.Min && r.Y <= p.Y.Max {
			c.StrokeLine2(referenceLine(g.theme), c.Min.X, ty(r.Y), c.Max.X, ty(r.Y))
		}
	}
	for i, arm := range g.points {
		style := meanLine(g.chart.slot(i))
		g.runs(arm, func(q Point) bool { return g.drawable(q.Mean) }, func(run []Point) {
			if len(run) == 1 { // a point alone makes no line
				c.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: 2, Shape: draw.CircleGlyph{}},
					vg.Point{X: tx(run[0].X), Y: ty(run[0].Mean)})
				return
			}
			line := make([]vg.Point, len(run))
			for k, q := range run {
				line[k] = vg.Point{X: tx(q.X), Y: ty(q.Mean)}
			}
			c.StrokeLines(style, c.ClipLinesXY(line)...)
		})
	}
}

// runs calls visit for every longest stretch of points that satisfy ok.
func (g *curves) runs(points []Point, ok func(Point) bool, visit func([]Point)) {
	from := -1
	for i := 0; i <= len(points); i++ {
		good := i < len(points) && ok(points[i])
		switch {
		case good && from < 0:
			from = i
		case !good && from >= 0:
			visit(points[from:i])
			from = -1
		}
	}
}
