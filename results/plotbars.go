package results

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"strings"

	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/record"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// bars compares one quantity over categories, such as the gap per number
// format: horizontal bars with error whiskers, so that long names stay
// readable, or dots on a log axis. An exact zero is shown as such on both.
type bars struct{ *figure.Figure }

func (b bars) size() (w, h float64) {
	height, gap := b.rowSize()
	return 560, 90 + float64(float64(len(b.Labels))*(float64(height*float64(max(len(b.Series), 1)))+gap))
}

func (b bars) describe() string {
	d := b.Title + "."
	for _, g := range b.Series {
		if len(b.Series) > 1 {
			d += " " + g.Name + ":"
		}
		for i, name := range b.Labels {
			d += " " + name + " " + figure.FormatNumber(at(g.Y, i), 3) + ";"
		}
	}
	return d
}

// at is entry i, NaN beyond the end.
func at(list []float64, i int) float64 {
	if i < len(list) {
		return list[i]
	}
	return math.NaN()
}

func (b bars) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, b.Title, b.Y.Label)
	if len(b.Series) > 1 {
		var keys []key
		for i, g := range b.Series {
			keys = append(keys, key{name: g.Name, slot: i, block: true})
		}
		canvas.Max.Y -= drawKeys(canvas, keys, th)
	}
	x, y := axis{log: b.Y.Log, ink: th.muted}, axis{low: -0.5, high: max(float64(len(b.Labels)), 1) - 0.5, ink: th.ink}
	for i, name := range b.Labels {
		y.ticks = append(y.ticks, tick{float64(len(b.Labels) - 1 - i), name})
	}
	floor, high := b.extent()
	x.low, x.high, x.ticks = floor, high, ticksOf(x.log)(floor, high)
	if b.zeros() { // stand in a column left of the floor
		x.low = elementary.Pow(10, math.Max(float64(1.12*elementary.Log10(floor))-float64(0.12*elementary.Log10(high)), -307))
		x.ticks = append([]tick{{math.Sqrt(x.low) * math.Sqrt(floor), "exactly 0"}}, x.ticks...)
	}
	// Space at the right for the figure after the longest bar.
	p := newPlot(draw.Crop(canvas, 0, -46, 0, -4), th, x, y)
	p.grid(&p.x)
	if b.Y.Log {
		dots{b}.draw(p)
	} else {
		b.bars(p)
	}
}

func (b bars) extent() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, g := range b.Series {
		for _, list := range []record.Floats{g.Y, g.Low, g.High} {
			for _, v := range list {
				if finite(v) && (!b.Y.Log || v > 0) {
					low, high = math.Min(low, v), math.Max(high, v)
				}
			}
		}
	}
	if !b.Y.Log {
		low, high = math.Min(low, 0), math.Max(high, 0)
	}
	return axisRange(low, high, b.Y.Log)
}

// bars draws the bars, whiskers and figures of a linear axis.
func (b bars) bars(c *plot) {
	groups, n := len(b.Series), len(b.Labels)
	height := (c.ty(1) - c.ty(0)) * 0.76 / vg.Length(max(groups, 1))
	style := textStyle(tickSize, c.th.ink)
	style.YAlign = draw.YCenter
	floor := c.tx(0)
	for k, g := range b.Series {
		for i := range n {
			v := at(g.Y, i)
			if math.IsNaN(v) {
				continue
			}
			y := c.ty(float64(n-1-i)) + vg.Length(height*(vg.Length(vg.Length(groups-1)/2)-vg.Length(k)))
			end := floor
			if finite(v) {
				end = c.tx(clamp(v, c.x.low, c.x.high))
				c.FillPolygon(armColor(k), []vg.Point{{X: floor, Y: y - vg.Length(height*0.42)}, {X: end, Y: y - vg.Length(height*0.42)},
					{X: end, Y: y + vg.Length(height*0.42)}, {X: floor, Y: y + vg.Length(height*0.42)}})
			}
			if low, high := at(g.Low, i), at(g.High, i); finite(low) && finite(high) && low < high {
				left, right := c.tx(clamp(low, c.x.low, c.x.high)), c.tx(clamp(high, c.x.low, c.x.high))
				whisker := draw.LineStyle{Color: c.th.ink, Width: 1}
				c.StrokeLine2(whisker, left, y, right, y)
				c.StrokeLine2(whisker, left, y-vg.Length(height*0.2), left, y+vg.Length(height*0.2))
				c.StrokeLine2(whisker, right, y-vg.Length(height*0.2), right, y+vg.Length(height*0.2))
				end = max(end, right)
			}
			// A negative bar ends left of the floor; its figure stands right of both.
			c.FillText(style, vg.Point{X: max(end, floor) + 4, Y: y}, figure.FormatNumber(v, 2))
		}
	}
}

// heat is a table of figures in colours: blue above zero, vermillion below, the
// stronger the farther, with the figure in every cell. A series is a row; a value that
// is NaN or not there leaves its cell empty.
type heat struct{ *figure.Figure }

const heatRow, heatColumn, heatNames = 15, 78, 190

func (h heat) size() (width, height float64) {
	return heatNames + float64(heatColumn*float64(len(h.Labels))), 92 + float64(heatRow*float64(len(h.Series)))
}

func (h heat) describe() string {
	d := h.Title + "."
	for _, row := range h.Series {
		d += " " + row.Name + ":"
		for j, column := range h.Labels {
			if v := at(row.Y, j); !math.IsNaN(v) {
				d += fmt.Sprintf(" %s %s%s;", column, figure.FormatNumber(v, 2), map[int]string{1: " (up)", -1: " (down)"}[sign(row, j)])
			}
		}
	}
	return d
}

// sign is that of a cell's mark.
func sign(row figure.Series, column int) int {
	if column >= len(row.Signs) {
		return 0
	}
	return cmp.Compare(row.Signs[column], 0)
}

func (h heat) full() float64 {
	if h.Full > 0 {
		return h.Full
	}
	most := 0.0
	for _, row := range h.Series {
		for _, v := range row.Y {
			if finite(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	return most
}

func (h heat) shade(v float64) color.NRGBA {
	c := palette[0]
	if v < 0 {
		c = palette[1]
	}
	share := 0.0
	if full := h.full(); full > 0 {
		share = math.Min(math.Abs(v)/full, 1)
	}
	return faded(c, uint8(float64(210*share)))
}

func (h heat) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, h.Title, h.Y.Label)
	if len(h.Series) == 0 || len(h.Labels) == 0 {
		instead(canvas, th, "no data")
		return
	}
	names, figures := textStyle(tickSize, th.ink), textStyle(tickSize, th.ink)
	names.YAlign = draw.YCenter
	figures.XAlign, figures.YAlign = draw.XCenter, draw.YCenter
	heads := figures
	heads.Color = th.muted
	width := (canvas.Max.X - canvas.Min.X - heatNames) / vg.Length(len(h.Labels))
	left := func(j int) vg.Length { return canvas.Min.X + heatNames + vg.Length(vg.Length(j)*width) }
	headings, most := make([][]string, len(h.Labels)), 0
	for j, name := range h.Labels {
		headings[j] = wrap(heads, strings.ReplaceAll(name, "-", "- "), width)
		most = max(most, len(headings[j]))
	}
	const line = tickSize + 1
	for j, rows := range headings {
		for k, text := range rows {
			at := vg.Point{X: left(j) + vg.Length(width/2), Y: canvas.Max.Y - 8 - vg.Length(line*(most-len(rows)+k))}
			canvas.FillText(heads, at, strings.ReplaceAll(text, "- ", "-"))
		}
	}
	canvas.Max.Y -= vg.Length(line * (most - 1))
	for i, row := range h.Series {
		top := canvas.Max.Y - 18 - vg.Length(vg.Length(i)*heatRow)
		middle := top - vg.Length(heatRow/2.0)
		canvas.FillText(names, vg.Point{X: canvas.Min.X, Y: middle}, row.Name)
		for j := range h.Labels {
			v := at(row.Y, j)
			if !finite(v) {
				continue
			}
			x, y := left(j), top-heatRow
			canvas.FillPolygon(h.shade(v), []vg.Point{{X: x + 1, Y: y + 1}, {X: x + width - 1, Y: y + 1}, {X: x + width - 1, Y: top}, {X: x + 1, Y: top}})
			if tip := vg.Length(2.5 * float64(sign(row, j))); tip != 0 {
				canvas.FillPolygon(th.ink, []vg.Point{{X: x + 5, Y: middle - tip}, {X: x + 11, Y: middle - tip}, {X: x + 8, Y: middle + tip}})
			}
			canvas.FillText(figures, vg.Point{X: x + vg.Length(width/2), Y: middle}, fmt.Sprintf("%+.2f", v))
		}
	}
}

// timeline shows who did what when: a lane for each worker, the colour is the
// version of its weights, the height of a bar the share of it that was busy.
// Versions beyond the palette take its colours again; blank is waiting.
type timeline struct{ *figure.Figure }

const timelineLane, timelineGap = 14, 3

// timelineColors is the number of colours of versions: the palette's last is the grey
// of work on no version's account.
const timelineColors = len(palette) - 1

func (t timeline) size() (w, h float64) {
	return 860, 112 + float64(float64(len(t.Lanes))*(timelineLane+timelineGap))
}

func (t timeline) describe() string {
	return fmt.Sprintf("%s. %d lanes from %s to %s %s; colour: version of the weights; blank: waiting.",
		t.Title, len(t.Lanes), figure.FormatNumber(t.X.Low, 3), figure.FormatNumber(t.X.High, 3), t.X.Label)
}

// versions are the first that is to be seen, and how many there are from there on.
func (t timeline) versions() (first, n int) {
	first = -1
	end := 0
	for _, lane := range t.Lanes {
		for _, s := range lane.Spans {
			if s.From < t.X.High && s.To > t.X.Low && s.Version >= 0 {
				if end = max(end, s.Version+1); first < 0 {
					first = s.Version
				}
				first = min(first, s.Version)
			}
		}
	}
	return first, end - max(first, 0)
}

func (t timeline) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, t.Title, t.Y.Label)
	if len(t.Lanes) == 0 || t.X.High <= t.X.Low {
		instead(canvas, th, "no data")
		return
	}
	var keys []key
	first, n := t.versions()
	for i := range min(n, timelineColors) {
		v := first + i
		name := fmt.Sprintf("version %d", v)
		if i+timelineColors < n {
			name = fmt.Sprintf("%d, %d, ...", v, v+timelineColors)
		}
		keys = append(keys, key{name: name, slot: v % timelineColors, block: true})
	}
	canvas.Max.Y -= drawKeys(canvas, keys, th) + 6
	label := textStyle(tickSize, th.muted)
	label.YAlign = draw.YCenter
	var left vg.Length
	for _, lane := range t.Lanes {
		left = max(left, label.Width(lane.Name))
	}
	c := canvas
	c.Min.X += left + 8
	x := func(v float64) vg.Length {
		v = clamp(v, t.X.Low, t.X.High)
		return c.Min.X + vg.Length(float64((v-t.X.Low)/(t.X.High-t.X.Low))*float64(c.Max.X-c.Min.X))
	}
	bottom := c.Max.Y - vg.Length(len(t.Lanes)*(timelineLane+timelineGap))
	t.axis(c, th, x, bottom)
	for i, lane := range t.Lanes {
		top := c.Max.Y - vg.Length(i*(timelineLane+timelineGap))
		c.FillText(label, vg.Point{X: canvas.Min.X, Y: top - timelineLane/2}, lane.Name)
		t.bars(c, th, lane, x, top-timelineLane)
	}
}

func (t timeline) axis(c draw.Canvas, th theme, x func(float64) vg.Length, bottom vg.Length) {
	style := textStyle(tickSize, th.muted)
	style.XAlign = draw.XCenter
	for _, tick := range linearTicks(t.X.Low, t.X.High) {
		if tick.label == "" || tick.value < t.X.Low || tick.value > t.X.High {
			continue
		}
		at := x(tick.value)
		c.StrokeLine2(draw.LineStyle{Color: th.grid, Width: 0.75}, at, bottom, at, c.Max.Y)
		c.FillText(style, vg.Point{X: at, Y: bottom - 4}, tick.label)
	}
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Max.X, Y: bottom - 16}, t.X.Label)
}

// bars draws a lane. Neighbours too close to be distinguished are one bar.
func (t timeline) bars(c draw.Canvas, th theme, lane figure.Lane, x func(float64) vg.Length, floor vg.Length) {
	const fine, wide = 0.4, 4 // points
	for i := 0; i < len(lane.Spans); {
		s := lane.Spans[i]
		from, to, area, busy := x(s.From), x(s.To), s.Share*(s.To-s.From), s.To-s.From
		for i++; i < len(lane.Spans); i++ {
			next := lane.Spans[i]
			if next.Version != s.Version || x(next.From)-to > fine || x(next.To)-from > wide {
				break
			}
			to, area, busy = x(next.To), area+float64(next.Share*(next.To-next.From)), busy+next.To-next.From
		}
		if s.From >= t.X.High || busy <= 0 {
			continue
		}
		fill := th.muted
		if s.Version >= 0 {
			fill = armColor(s.Version % timelineColors)
		}
		height := vg.Length(timelineLane * max(area/busy, 0.12))
		to = max(to, from+fine)
		c.FillPolygon(fill, []vg.Point{{X: from, Y: floor}, {X: to, Y: floor}, {X: to, Y: floor + height}, {X: from, Y: floor + height}})
	}
}
