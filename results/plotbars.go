package results

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/record"
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
	p := newPlot(th)
	n := len(b.Labels)
	var names plot.ConstantTicks
	for i, name := range b.Labels {
		names = append(names, plot.Tick{Value: float64(n - 1 - i), Label: name})
	}
	p.Y.Tick.Marker = names
	p.Y.Tick.Label.Color = th.ink
	p.Y.Min, p.Y.Max = -0.5, float64(n)-0.5
	p.X.Min, p.X.Max = b.extent()
	if b.zeros() {
		// A column left of the floor.
		p.X.Min = elementary.Pow(10, math.Max(float64(1.12*elementary.Log10(p.X.Min))-float64(0.12*elementary.Log10(p.X.Max)), -307))
	}
	p.X.Tick.Length = 3
	p.X.Scale = scale{b.Y.Log}
	p.X.Tick.Marker = plot.TickerFunc(linearTicks)
	if b.Y.Log {
		p.X.Tick.Marker = plot.TickerFunc(b.decades)
		p.Add(&gridLines{th, false}, &dots{b, th})
	} else {
		p.Add(&gridLines{th, false}, &barPlot{b, th})
	}
	// Space at the right for the figure behind the longest bar.
	p.Draw(draw.Crop(canvas, 0, -46, 0, -4))
}

// extent is the range of the value axis.
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

// floor is where the decades of a log axis begin, right of the exact zeros.
func (b bars) floor() float64 {
	low, _ := b.extent()
	return low
}

// decades are the ticks of a log axis, and a zero in the column of the zeros.
func (b bars) decades(low, high float64) []plot.Tick {
	floor := b.floor()
	ticks := logTicks(floor, high)
	if b.zeros() {
		ticks = append([]plot.Tick{{Value: math.Sqrt(low) * math.Sqrt(floor), Label: "exactly 0"}}, ticks...)
	}
	return ticks
}

// barPlot draws the bars, whiskers and figures of a linear axis.
type barPlot struct {
	bars
	theme theme
}

func (b *barPlot) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	groups, n := len(b.Series), len(b.Labels)
	height := (ty(1) - ty(0)) * 0.76 / vg.Length(max(groups, 1))
	style := textStyle(tickSize, b.theme.ink)
	style.YAlign = draw.YCenter
	floor := tx(0)
	for k, g := range b.Series {
		for i := range n {
			v := at(g.Y, i)
			if math.IsNaN(v) {
				continue
			}
			y := ty(float64(n-1-i)) + vg.Length(height*(vg.Length(vg.Length(groups-1)/2)-vg.Length(k)))
			end := floor
			if finite(v) {
				end = tx(clamp(v, p.X.Min, p.X.Max))
				c.FillPolygon(armColor(k), []vg.Point{{X: floor, Y: y - vg.Length(height*0.42)}, {X: end, Y: y - vg.Length(height*0.42)},
					{X: end, Y: y + vg.Length(height*0.42)}, {X: floor, Y: y + vg.Length(height*0.42)}})
			}
			if low, high := at(g.Low, i), at(g.High, i); finite(low) && finite(high) && low < high {
				left, right := tx(clamp(low, p.X.Min, p.X.Max)), tx(clamp(high, p.X.Min, p.X.Max))
				whisker := draw.LineStyle{Color: b.theme.ink, Width: 1}
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
