package results

import (
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Timeline shows who did what when: a lane for each worker, the colour is the
// version of its weights, the height of a bar the share of it that was busy.
// Versions beyond the palette take its colours again; blank is waiting.
type Timeline struct {
	Title string
	// Note says what the heights are.
	Note string
	// Unit is that of the times, such as "s".
	Unit string
	// From and To are the ends of the axis.
	From, To float64
	Lanes    []TimelineLane
}

// TimelineLane is one row.
type TimelineLane struct {
	Name  string
	Spans []TimelineSpan
}

// TimelineSpan is a stretch of one kind of work.
type TimelineSpan struct {
	From, To float64
	// Version chooses the colour; below 0 is work on no version's account, in grey.
	Version int
	// Share is the height of the bar, 0 to 1.
	Share float64
}

const timelineLane, timelineGap = 14, 3

// timelineColors is the number of colours of versions: the palette's last is the grey
// of work on no version's account.
const timelineColors = len(palette) - 1

func (t *Timeline) size() (w, h float64) {
	return 860, 112 + float64(float64(len(t.Lanes))*(timelineLane+timelineGap))
}

func (t *Timeline) describe() string {
	return fmt.Sprintf("%s. %d lanes from %s to %s %s; the colour is the version of the weights, blank is waiting.",
		t.Title, len(t.Lanes), FormatNumber(t.From, 3), FormatNumber(t.To, 3), t.Unit)
}

// versions are the first that is to be seen, and how many there are from there on.
func (t *Timeline) versions() (first, n int) {
	first = -1
	end := 0
	for _, lane := range t.Lanes {
		for _, s := range lane.Spans {
			if s.From < t.To && s.To > t.From && s.Version >= 0 {
				if end = max(end, s.Version+1); first < 0 {
					first = s.Version
				}
				first = min(first, s.Version)
			}
		}
	}
	return first, end - max(first, 0)
}

func (t *Timeline) draw(canvas draw.Canvas, th theme) {
	canvas = (&Chart{Title: t.Title, YLabel: t.Note}).heading(canvas, th)
	if len(t.Lanes) == 0 || t.To <= t.From {
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
		v = clamp(v, t.From, t.To)
		return c.Min.X + vg.Length(float64((v-t.From)/(t.To-t.From))*float64(c.Max.X-c.Min.X))
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
func (t *Timeline) axis(c draw.Canvas, th theme, x func(float64) vg.Length, bottom vg.Length) {
	style := textStyle(tickSize, th.muted)
	style.XAlign = draw.XCenter
	for _, tick := range linearTicks(t.From, t.To) {
		if tick.Label == "" || tick.Value < t.From || tick.Value > t.To {
			continue
		}
		at := x(tick.Value)
		c.StrokeLine2(draw.LineStyle{Color: th.grid, Width: 0.75}, at, bottom, at, c.Max.Y)
		c.FillText(style, vg.Point{X: at, Y: bottom - 4}, tick.Label)
	}
	style.XAlign = draw.XRight
	c.FillText(style, vg.Point{X: c.Max.X, Y: bottom - 16}, t.Unit)
}

// bars draws a lane. Neighbours that nobody could tell apart are one bar.
func (t *Timeline) bars(c draw.Canvas, th theme, lane TimelineLane, x func(float64) vg.Length, floor vg.Length) {
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
		if s.From >= t.To || busy <= 0 {
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
