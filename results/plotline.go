package results

import (
	"image/color"
	"math"
	"slices"
	"strings"

	"driftlab/results/figure"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func (c *chart) size() (w, h float64) { return 560, 320 }

// describe is the text alternative.
func (c *chart) describe() string {
	d, what := c.Title, "Lines"
	if c.Kind == figure.Dots {
		what = "Dots"
	}
	for i, a := range c.lines {
		if i == 0 {
			d += ". " + what + ": "
		} else {
			d += ", "
		}
		d += a.Name
	}
	return d + "."
}

// keys are the legend's entries: everything that has no name at its end.
func (c *chart) keys(named bool) []key {
	var keys []key
	for i, a := range c.lines {
		if remark := c.undrawn(i); !named || remark != "" {
			keys = append(keys, key{name: a.Name + remark, slot: c.slot(i)})
		}
	}
	for _, r := range c.Marks {
		keys = append(keys, key{name: r.Name, plain: true})
	}
	return keys
}

// undrawn is a remark for the legend when nothing of an arm can be drawn, so
// that a matched control with a gap of exactly zero is not taken for a missing one.
func (c *chart) undrawn(arm int) string {
	any, zero := false, true
	for _, s := range c.lines[arm].Curves() {
		for _, y := range s.Y {
			if finite(y) {
				any = true
				zero = zero && y == 0
				if !c.Y.Log || y > 0 {
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

func (c *chart) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, c.Title, c.Y.Label)
	nameSpace := c.namesWidth(canvas.Size().X)
	canvas.Max.Y -= drawKeys(canvas, c.keys(nameSpace > 0), th)
	c.axes(canvas, th, nameSpace)
}

// heading paints the title and the name of the y axis, which stands upright
// under the title rather than on its side, and returns what is left.
func heading(canvas draw.Canvas, th theme, title, y string) draw.Canvas {
	for _, line := range []struct {
		text  string
		size  float64
		color color.Color
	}{{title, titleSize, th.ink}, {y, labelSize, th.muted}} {
		if line.text == "" {
			continue
		}
		style := textStyle(line.size, line.color)
		for _, row := range wrap(style, line.text, canvas.Size().X) {
			canvas.FillText(style, vg.Point{X: canvas.Min.X, Y: canvas.Max.Y}, row)
			canvas.Max.Y -= vg.Length(line.size) + 5
		}
	}
	return canvas
}

// wrap breaks a line of text between words, so that no row is wider than width
// unless a word is.
func wrap(style text.Style, line string, width vg.Length) []string {
	var rows []string
	row := ""
	for word := range strings.FieldsSeq(line) {
		switch longer := row + " " + word; {
		case row == "":
			row = word
		case style.Width(longer) <= width:
			row = longer
		default:
			rows, row = append(rows, row), word
		}
	}
	return append(rows, row)
}

// axes paints the axes and the curves, with space at the right for the names of
// the lines; without any, they stand in a legend.
func (c *chart) axes(canvas draw.Canvas, th theme, nameSpace vg.Length) {
	if text := c.empty(); text != "" {
		instead(canvas, th, text)
		return
	}
	lines := &curves{chart: c}
	for i := range c.lines {
		if c.Kind == figure.Dots {
			lines.points = append(lines.points, dotsOf(&c.lines[i]))
		} else {
			lines.points = append(lines.points, pointsOf(&c.lines[i], c.Band))
		}
	}
	x, y := axis{label: c.X.Label, log: c.X.Log, ink: th.muted}, axis{log: c.Y.Log, ink: th.muted}
	x.low, x.high, y.low, y.high = lines.extent()
	x.ticks, y.ticks = ticksOf(x.log)(x.low, x.high), ticksOf(y.log)(y.low, y.high)
	// Space for the last tick label, which is centred under the axis' end.
	p := newPlot(draw.Crop(canvas, 0, -max(nameSpace, 14), 0, -2), th, x, y)
	p.grid(&p.y)
	lines.draw(p)
	if nameSpace > 0 {
		lines.names(p)
	}
}

// instead writes what there is to say of a figure without anything to draw.
func instead(canvas draw.Canvas, th theme, text string) {
	style := textStyle(labelSize, th.muted)
	style.XAlign, style.YAlign = draw.XCenter, draw.YCenter
	canvas.FillText(style, canvas.Center(), text)
}

// curves draws the arms of a chart: bands first, then references, then single
// seeds where there is no band, then means, so that no band covers a line.
type curves struct {
	chart  *chart
	points [][]point // per arm
}

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
	for _, r := range g.chart.Marks {
		grow(r.At)
	}
	xlow, xhigh = spanOf(xlow, xhigh)
	if y := g.chart.Y; y.Low < y.High {
		return xlow, xhigh, y.Low, y.High
	}
	ylow, yhigh = axisRange(ylow, yhigh, g.chart.Y.Log)
	return xlow, xhigh, ylow, yhigh
}

// drawable reports whether the y axis can show v.
func (g *curves) drawable(v float64) bool { return finite(v) && (!g.chart.Y.Log || v > 0) }

func (g *curves) draw(c *plot) {
	for i, arm := range g.points {
		if !g.chart.banded() {
			break
		}
		fill := faded(armColor(g.chart.slot(i)), 0x30)
		g.runs(arm, func(q point) bool { return g.drawable(q.High) && finite(q.Low) }, func(run []point) {
			outline := make([]vg.Point, 0, 2*len(run))
			for _, q := range run {
				outline = append(outline, vg.Point{X: c.tx(q.X), Y: c.ty(q.High)})
			}
			for k := len(run) - 1; k >= 0; k-- {
				low := run[k].Low
				if !g.drawable(low) {
					low = c.y.low // down to the floor of a log axis
				}
				outline = append(outline, vg.Point{X: c.tx(run[k].X), Y: c.ty(low)})
			}
			c.FillPolygon(fill, c.ClipPolygonXY(outline))
		})
	}
	for _, r := range g.chart.Marks {
		if g.drawable(r.At) && r.At >= c.y.low && r.At <= c.y.high {
			c.StrokeLine2(referenceLine(c.th), c.Min.X, c.ty(r.At), c.Max.X, c.ty(r.At))
		}
	}
	for i, arm := range g.points {
		style := meanLine(g.chart.slot(i))
		dot := func(q point) {
			c.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: 2, Shape: draw.CircleGlyph{}}, vg.Point{X: c.tx(q.X), Y: c.ty(q.Mean)})
		}
		if g.chart.Kind == figure.Dots {
			for _, q := range arm {
				dot(q)
			}
			continue
		}
		g.runs(arm, func(q point) bool { return g.drawable(q.Mean) }, func(run []point) {
			if len(run) == 1 { // a point alone makes no line
				dot(run[0])
				return
			}
			line := make([]vg.Point, len(run))
			for k, q := range run {
				line[k] = vg.Point{X: c.tx(q.X), Y: c.ty(q.Mean)}
			}
			c.StrokeLines(style, c.ClipLinesXY(line)...)
		})
		if at := g.chart.lines[i].Marked; at > 0 && at >= c.x.low && at <= c.x.high {
			c.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: 4, Shape: draw.TriangleGlyph{}}, vg.Point{X: c.tx(at), Y: c.Min.Y + 4})
		}
	}
}

// runs calls visit for every longest stretch of points that satisfy ok.
func (g *curves) runs(points []point, ok func(point) bool, visit func([]point)) {
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

// dots draws bars on a log axis, where a bar's length would mean nothing: a dot
// for each value, its whisker, and a column of their own for exact zeros.
type dots struct{ bars }

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

func (d dots) draw(c *plot) {
	tx := func(v float64) vg.Length { return c.tx(clamp(v, c.x.low, c.x.high)) }
	height, _ := d.rowSize()
	zero := c.Min.X
	if d.zeros() {
		floor, _ := d.extent()
		edge := tx(floor)
		zero = (c.Min.X + edge) / 2
		c.StrokeLine2(draw.LineStyle{Color: c.th.muted, Width: 0.75, Dashes: []vg.Length{1.5, 2.5}}, edge, c.Min.Y, edge, c.Max.Y)
	}
	for i := range d.Labels {
		row := c.ty(float64(len(d.Labels) - 1 - i))
		c.StrokeLine2(draw.LineStyle{Color: c.th.grid, Width: 0.6}, c.Min.X, row, c.Max.X, row)
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

func (d dots) number(c *plot, v float64, x, y vg.Length) {
	style := textStyle(tickSize, c.th.ink)
	style.YAlign = draw.YCenter
	text := figure.FormatNumber(v, 2)
	if v == 0 {
		text = "exactly 0"
	}
	c.FillText(style, vg.Point{X: x + 6, Y: y}, text)
}

// multiples are charts side by side under one legend, which lists every arm once.
type multiples struct{ *figure.Figure }

const panelWidth, panelHeight, panelGap = 380, 220, 18

func (m multiples) columns() int {
	n := m.PartColumns
	if n <= 0 {
		n = 2
	}
	return max(min(n, len(m.Parts)), 1)
}

func (m multiples) size() (w, h float64) {
	cols := m.columns()
	rows := (len(m.Parts) + cols - 1) / cols
	return float64(cols*panelWidth + (cols-1)*panelGap), float64(rows*(panelHeight+panelGap)) + 50
}

func (m multiples) describe() string {
	d := m.Title + "."
	for i := range m.Parts {
		d += " " + newChart(&m.Parts[i]).describe()
	}
	return d
}

// aligned returns the charts with every arm in the slot of its name, and the
// legend they share.
func (m multiples) aligned() ([]*chart, []key) {
	slots := map[string]int{}
	var keys []key
	charts := make([]*chart, len(m.Parts))
	for i := range m.Parts {
		part := m.Parts[i] // its labels are changed
		c := newChart(&part)
		c.lines = slices.Clone(c.lines)
		for j := range c.lines {
			a := &c.lines[j]
			slot, ok := slots[a.Name]
			if !ok {
				slot = len(keys)
				if a.Slot > 0 {
					slot = a.Slot - 1
				}
				slots[a.Name] = slot
				keys = append(keys, key{name: a.Name, slot: slot})
			}
			a.Slot = slot + 1
		}
		charts[i] = c
	}
	return charts, keys
}

func (m multiples) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, m.Title, "")
	if len(m.Parts) == 0 {
		instead(canvas, th, "no data")
		return
	}
	charts, keys := m.aligned()
	cols := m.columns()
	named := m.named((canvas.Size().X - vg.Length(vg.Length(cols-1)*panelGap)) / vg.Length(cols))
	if !named {
		canvas.Max.Y -= drawKeys(canvas, keys, th)
	}
	canvas.Max.Y -= 6
	rows := (len(charts) + cols - 1) / cols
	size := canvas.Size()
	w := (size.X - vg.Length(vg.Length(cols-1)*panelGap)) / vg.Length(cols)
	h := (size.Y - vg.Length(vg.Length(rows-1)*panelGap)) / vg.Length(rows)
	for i := range charts {
		part := canvas
		part.Min.X += vg.Length(vg.Length(i%cols) * (w + panelGap))
		part.Max.X = part.Min.X + w
		part.Max.Y -= vg.Length(vg.Length(i/cols) * (h + panelGap))
		part.Min.Y = part.Max.Y - h
		// The shared legend cannot say what one panel leaves out: its label does.
		for j, a := range charts[i].lines {
			if remark := charts[i].undrawn(j); remark != "" {
				charts[i].Y.Label += "; " + a.Name + remark
			}
		}
		part = heading(part, th, charts[i].Title, charts[i].Y.Label)
		var nameSpace vg.Length
		if named {
			nameSpace = charts[i].namesWidth(w)
		}
		charts[i].axes(part, th, nameSpace)
	}
}

// named reports whether the lines of every panel can carry their names, which
// then need no legend.
func (m multiples) named(width vg.Length) bool {
	for i := range m.Parts {
		if c := newChart(&m.Parts[i]); c.empty() == "" && (c.namesWidth(width) == 0 || len(c.Marks) > 0) {
			return false
		}
	}
	return true
}
