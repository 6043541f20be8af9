package results

import (
	"fmt"

	"driftlab/results/figure"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// axis draws the times below the lanes.
func (t timeline) axis(c draw.Canvas, th theme, x func(float64) vg.Length, bottom vg.Length) {
	style := textStyle(tickSize, th.muted)
	style.XAlign = draw.XCenter
	for _, tick := range linearTicks(t.X.Low, t.X.High) {
		if tick.Label == "" || tick.Value < t.X.Low || tick.Value > t.X.High {
			continue
		}
		at := x(tick.Value)
		c.StrokeLine2(draw.LineStyle{Color: th.grid, Width: 0.75}, at, bottom, at, c.Max.Y)
		c.FillText(style, vg.Point{X: at, Y: bottom - 4}, tick.Label)
	}
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Max.X, Y: bottom - 16}, t.X.Label)
}

// bars draws a lane. Neighbours that nobody could tell apart are one bar.
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
