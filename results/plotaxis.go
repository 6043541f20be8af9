package results

import (
	"cmp"
	"image/color"
	"math"
	"slices"
	"strconv"
	"sync"

	"driftlab/precision/elementary"
	"driftlab/results/figure"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// What an axis can show. Values beyond huge stand at its end, spans below tiny
// or below one part in 1/flat of their values are drawn as no span at all: tick
// labels carry twelve digits and could not tell their ends apart.
const (
	huge = 1e300
	tiny = 1e-300
	flat = 1e-9
)

// axisRange chooses the ends of a value axis for data between low and high.
// They are finite, apart by more than flat and, on a log axis, above zero.
func axisRange(low, high float64, log bool) (float64, float64) {
	if !(low <= high) { // no data
		if log {
			return 0.1, 10
		}
		return 0, 1
	}
	if log {
		return logRange(low, high)
	}
	a, b := spanOf(low, high)
	padding := float64(0.04 * (b - a))
	if low >= 0 && a-padding < 0 {
		return 0, b + padding // a quantity that cannot be negative keeps its floor
	}
	return a - padding, b + padding
}

// spanOf are the ends of a linear axis without padding beyond the data: low and
// high themselves, moved apart where they are too close.
func spanOf(low, high float64) (float64, float64) {
	low, high = clamp(low, -huge, huge), clamp(high, -huge, huge)
	size := math.Max(math.Abs(low), math.Abs(high))
	switch {
	case !(low <= high): // no data
		return 0, 1
	case high-low > math.Max(flat*size, tiny):
		return low, high
	case size <= tiny:
		return 0, 1
	}
	return low - float64(0.2*size), high + float64(0.2*size)
}

// logRange is axisRange of an axis in decades, of which it shows at least one.
func logRange(low, high float64) (float64, float64) {
	a, b := elementary.Log10(clamp(low, tiny, huge)), elementary.Log10(clamp(high, tiny, huge))
	padding := float64(math.Max(0.04*(b-a), (1-(b-a))/2))
	return elementary.Pow(10, math.Max(a-padding, -305)), elementary.Pow(10, math.Min(b+padding, 305))
}

// clamp is v between low and high.
func clamp(v, low, high float64) float64 { return math.Min(math.Max(v, low), high) }

// mostTicks bounds the marks of a linear axis; 1, 2 and 5 times a power of ten
// make at most seven of them.
const mostTicks = 12

// linearTicks marks the multiples of 1, 2 or 5 times a power of ten, some five
// of them, and none where the ends are not two numbers.
func linearTicks(low, high float64) []tick {
	rough := high/5 - low/5
	if !(rough > 0) || math.IsInf(rough, 1) {
		return nil
	}
	exponent := int(math.Floor(elementary.Log10(rough)))
	mantissa := 10
	for _, m := range []int{1, 2, 5} {
		if float64(m)*math.Pow10(exponent) >= rough*0.999 {
			mantissa = m
			break
		}
	}
	step := float64(mantissa) * math.Pow10(exponent)
	if step == 0 {
		return nil // below the smallest number
	}
	var ticks []tick
	// The count ends the loop where a step is too small to change its place.
	for n, k := 0, math.Ceil(low/step-1e-9); n < mostTicks && k*step <= high+float64(1e-9*step); n, k = n+1, k+1 {
		// Through decimal text, so that 3*0.1 is marked 0.3; +0 takes the sign off a zero.
		v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(k*step)+0, 'g', 12, 64), 64)
		if !finite(v) || len(ticks) > 0 && v <= ticks[len(ticks)-1].value {
			continue
		}
		ticks = append(ticks, tick{v, tickLabel(v)})
	}
	return ticks
}

// logTicks marks the decades, every n-th where there are many, and 2 and 5
// between them where there are few; none where the ends are not two positive
// numbers.
func logTicks(low, high float64) []tick {
	if !(low > 0 && high > low) || math.IsInf(high, 1) {
		return nil
	}
	span := elementary.Log10(high) - elementary.Log10(low)
	first, last := int(math.Floor(elementary.Log10(low))), int(math.Ceil(elementary.Log10(high)))
	every := max((last-first+7)/8, 1)
	inner := []int{1}
	if span < 2.5 {
		inner = []int{1, 2, 5}
	}
	var ticks []tick
	for d := first; d <= last; d++ {
		for _, m := range inner {
			v, err := strconv.ParseFloat(strconv.Itoa(m)+"e"+strconv.Itoa(d), 64)
			if err != nil || v < low || v > high {
				continue
			}
			label := ""
			if d%every == 0 {
				label = tickLabel(v)
			}
			ticks = append(ticks, tick{v, label})
		}
	}
	return ticks
}

// ticksOf marks an axis in decades or not.
func ticksOf(log bool) func(low, high float64) []tick {
	if log {
		return logTicks
	}
	return linearTicks
}

// tickLabel is short: 0.001, 1, 200, 1e-5.
func tickLabel(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-3 || a >= 1e5) {
		return figure.ShortExponent(strconv.FormatFloat(v, 'e', -1, 64))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// palette is that of Okabe and Ito (2008), made for every kind of colour
// vision, in an order that puts the strongest contrasts first. Its yellow fades
// on white and is left out; a grey that shows on both papers stands for black.
var palette = [...]color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, // blue
	{0xD5, 0x5E, 0x00, 0xFF}, // vermillion
	{0x00, 0x9E, 0x73, 0xFF}, // bluish green
	{0xCC, 0x79, 0xA7, 0xFF}, // reddish purple
	{0xE6, 0x9F, 0x00, 0xFF}, // orange
	{0x56, 0xB4, 0xE9, 0xFF}, // sky blue
	{0x6B, 0x72, 0x7D, 0xFF}, // grey
}

// darkPalette are the same hues, light enough for black paper.
var darkPalette = [len(palette)]color.NRGBA{
	{0x4D, 0xA3, 0xE0, 0xFF}, {0xFF, 0x85, 0x3A, 0xFF}, {0x2C, 0xC4, 0x98, 0xFF}, {0xE0, 0x98, 0xC2, 0xFF},
	{0xF2, 0xB5, 0x2E, 0xFF}, {0x8C, 0xD2, 0xF7, 0xFF}, {0xA3, 0xAB, 0xB5, 0xFF},
}

// dashes tells arms apart that share a colour, and helps in a print without colour.
var dashes = [...][]float64{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}

// armColor, on light and on dark paper, and armDash are the line style of a palette slot.
func armColor(slot int) color.NRGBA { return palette[slot%len(palette)] }

func armColorDark(slot int) color.NRGBA { return darkPalette[slot%len(palette)] }

func armDash(slot int) []float64 { return dashes[slot/len(palette)%len(dashes)] }

// faded is the colour at an opacity of a/255.
func faded(c color.NRGBA, a uint8) color.NRGBA {
	c.A = a
	return c
}

// theme holds the colours that are not data.
type theme struct {
	paper, ink, muted, grid color.NRGBA
}

var (
	light = theme{
		paper: color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}, ink: color.NRGBA{0x1F, 0x24, 0x2B, 0xFF},
		muted: color.NRGBA{0x5B, 0x65, 0x70, 0xFF}, grid: color.NRGBA{0xE3, 0xE6, 0xEA, 0xFF},
	}
	dark = theme{
		paper: color.NRGBA{0x14, 0x18, 0x1D, 0xFF}, ink: color.NRGBA{0xE6, 0xE9, 0xED, 0xFF},
		muted: color.NRGBA{0x9A, 0xA4, 0xB0, 0xFF}, grid: color.NRGBA{0x2C, 0x33, 0x3B, 0xFF},
	}
)

// hex is the colour as CSS writes it; gonum's SVG writes it the same way.
func hex(c color.NRGBA) string {
	const digits = "0123456789ABCDEF"
	b := []byte{'#', 0, 0, 0, 0, 0, 0}
	for i, v := range [...]uint8{c.R, c.G, c.B} {
		b[1+2*i], b[2+2*i] = digits[v>>4], digits[v&15]
	}
	return string(b)
}

// sans lays text out in Liberation Sans, the only font in use of the twelve that gonum/plot brings.
var sans = sync.OnceValue(func() text.Plain {
	face, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic("results: " + err.Error())
	}
	return text.Plain{Fonts: font.NewCache(font.Collection{{Font: sansFont, Face: face}})}
})

var sansFont = font.Font{Typeface: "Liberation", Variant: "Sans"}

// textStyle is text in Liberation Sans from its upper left corner on.
func textStyle(size float64, c color.Color) text.Style {
	return text.Style{Color: c, Font: font.From(sansFont, vg.Length(size)), XAlign: draw.XLeft, YAlign: draw.YTop, Handler: sans()}
}

const (
	titleSize = 13
	labelSize = 10
	tickSize  = 9
)

// tick is a mark of an axis; one without a label has a grid line alone.
type tick struct {
	value float64
	label string
}

// axis is what an axis shows: its ends, its marks, and its name, which only a horizontal axis has.
type axis struct {
	low, high float64
	log       bool
	ticks     []tick
	label     string
	ink       color.Color // of the tick labels
}

// place is where v lies along the axis, from 0 to 1, in decades or not. What lies
// far beyond the ends stays near enough to be printed and clipped.
func (a *axis) place(v float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, v = elementary.Log10(low), elementary.Log10(high), elementary.Log10(math.Max(v, tiny))
	}
	return clamp((clamp(v, -huge, huge)-low)/(high-low), -100, 100)
}

// span is what a tick label, or the axis' name, takes up along the axis: beyond its place, and at all.
type span struct {
	place        float64
	beyond, size vg.Length
}

// shortened is the end of an axis from low to high that leaves space for the text that would stand out farthest.
func shortened(low, high vg.Length, texts []span) vg.Length {
	farthest, end := high, high
	for _, s := range texts {
		if at := low + vg.Length(vg.Length(s.place)*(high-low)) + s.beyond; s.size > 0 && s.place <= 1 && at > farthest {
			farthest = at
			end = low + (high-s.beyond-low)/vg.Length(s.place)
		}
	}
	return end
}

// plot is the rectangle of the data between its two axes.
type plot struct {
	draw.Canvas
	x, y axis
	th   theme
}

// tx and ty are where a value of the axis lies on the canvas.
func (p *plot) tx(v float64) vg.Length { return p.X(p.x.place(v)) }

func (p *plot) ty(v float64) vg.Length { return p.Y(p.y.place(v)) }

// newPlot draws two axes on a canvas: no frame, no marks but their labels, a line below. What is left is for the data.
func newPlot(canvas draw.Canvas, th theme, x, y axis) *plot {
	p := &plot{canvas, x, y, th}
	name, below, left := textStyle(labelSize, th.muted), textStyle(tickSize, x.ink), textStyle(tickSize, y.ink)
	name.XAlign, name.YAlign = draw.XCenter, draw.YBottom
	below.XAlign = draw.XCenter
	left.XAlign, left.YAlign = draw.XRight, draw.YCenter
	floor := canvas.Min.Y // of the tick labels of x, whose height there is
	var along, upward []span
	if x.label != "" {
		width := name.Width(x.label)
		along = append(along, span{0.5, width / 2, width})
		floor += name.Height(x.label) + 4
	}
	var height, width vg.Length
	for _, t := range x.ticks {
		if box := below.Rectangle(t.label); t.label != "" {
			height = max(height, box.Size().Y)
			along = append(along, span{x.place(t.value), box.Max.X, box.Size().X})
		}
	}
	rise := left.FontExtents().Height - left.FontExtents().Ascent
	for _, t := range y.ticks {
		if box := left.Rectangle(t.label); t.label != "" {
			width = max(width, box.Size().X)
			upward = append(upward, span{y.place(t.value), box.Max.Y + rise, box.Size().Y})
		}
	}
	if width > 0 {
		p.Min.X += width + name.Width(" ")
	}
	p.Min.Y = floor + height + axisWidth/2
	p.Max.X, p.Max.Y = shortened(p.Min.X, p.Max.X, along), shortened(p.Min.Y, p.Max.Y, upward)
	if x.label != "" {
		p.FillText(name, vg.Point{X: p.Center().X, Y: canvas.Min.Y + name.FontExtents().Descent}, x.label)
	}
	for _, t := range x.ticks {
		if at := p.tx(t.value); t.label != "" && p.ContainsX(at) {
			p.FillText(below, vg.Point{X: at, Y: floor + height + below.FontExtents().Descent}, t.label)
		}
	}
	line := draw.LineStyle{Color: th.muted, Width: axisWidth}
	p.StrokeLine2(line, p.Min.X, floor+height, p.Max.X, floor+height)
	for _, t := range y.ticks {
		if at := p.ty(t.value); t.label != "" && p.ContainsY(at) {
			p.FillText(left, vg.Point{X: canvas.Min.X + width, Y: at + left.FontExtents().Descent}, t.label)
		}
	}
	return p
}

// axisWidth is that of the line below a plot.
const axisWidth = vg.Length(0.75)

// grid draws a hairline across the plot at every tick of one axis.
func (p *plot) grid(a *axis) {
	style := draw.LineStyle{Color: p.th.grid, Width: 0.6}
	for _, t := range a.ticks {
		switch {
		case t.value < a.low || t.value > a.high:
		case a == &p.y:
			p.StrokeLine2(style, p.Min.X, p.ty(t.value), p.Max.X, p.ty(t.value))
		default:
			p.StrokeLine2(style, p.tx(t.value), p.Min.Y, p.tx(t.value), p.Max.Y)
		}
	}
}

type key struct {
	name  string
	slot  int
	plain bool // a reference line: muted and dashed
	block bool // a bar instead of a line
}

// drawKeys lays a legend out in rows from the top of c and returns its height,
// so that the data can start below it and is never hidden.
func drawKeys(c draw.Canvas, keys []key, th theme) vg.Length {
	const row, gap = vg.Length(14), vg.Length(14)
	style := textStyle(labelSize, th.ink)
	style.YAlign = draw.YCenter
	x, y := c.Min.X, c.Max.Y-row/2
	for _, k := range keys {
		swatch := vg.Length(18)
		if k.block {
			swatch = 8
		}
		width := swatch + 4 + style.Width(k.name)
		if x > c.Min.X && x+width > c.Max.X {
			x, y = c.Min.X, y-row
		}
		drawSwatch(c, k, th, x, y, swatch)
		c.FillText(style, vg.Point{X: x + swatch + 4, Y: y}, k.name)
		x += width + gap
	}
	if len(keys) == 0 {
		return 0
	}
	return c.Max.Y - y + row/2 + 2
}

func drawSwatch(c draw.Canvas, k key, th theme, x, y, width vg.Length) {
	switch {
	case k.block:
		half := vg.Length(width / 2)
		c.FillPolygon(armColor(k.slot), []vg.Point{{X: x, Y: y - half}, {X: x + width, Y: y - half},
			{X: x + width, Y: y + half}, {X: x, Y: y + half}})
	case k.plain:
		c.StrokeLine2(referenceLine(th), x, y, x+width, y)
	default:
		c.StrokeLine2(meanLine(k.slot), x, y, x+width, y)
	}
}

func meanLine(slot int) draw.LineStyle {
	style := draw.LineStyle{Color: armColor(slot), Width: 1.6}
	for _, d := range armDash(slot) {
		style.Dashes = append(style.Dashes, vg.Length(d))
	}
	return style
}

func referenceLine(th theme) draw.LineStyle {
	return draw.LineStyle{Color: th.muted, Width: 0.9, Dashes: []vg.Length{3, 3}}
}

// nameStep is the distance between the names of two lines that end together.
const nameStep = labelSize + 2

// namesWidth is the width that the names of the lines need at their ends; 0 if
// the chart is better served by a legend: one line, names that would take more
// than a third of it, more than fit below each other, or lines that end before the right edge.
func (c *chart) namesWidth(width vg.Length) vg.Length {
	if c.Kind == figure.Dots || len(c.lines) < 2 || len(c.lines) > 10 || c.empty() != "" || !c.endTogether() {
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

// endTogether reports whether all lines end at the same x.
func (c *chart) endTogether() bool {
	ends := map[float64]bool{}
	for _, a := range c.lines {
		last := math.Inf(-1)
		for _, p := range pointsOf(&a, c.Band) {
			if finite(p.Mean) {
				last = p.X
			}
		}
		if !math.IsInf(last, -1) {
			ends[last] = true
		}
	}
	return len(ends) < 2
}

// names writes the name of every line at its end, in its colour, moved apart
// where lines end together.
func (g *curves) names(c *plot) {
	type ending struct {
		name string
		slot int
		y    vg.Length
	}
	var ends []ending
	for i, arm := range g.points {
		for k := len(arm) - 1; k >= 0; k-- {
			if g.drawable(arm[k].Mean) {
				y := min(max(c.ty(arm[k].Mean), c.Min.Y), c.Max.Y)
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
	floor := c.Min.Y + labelSize/2 // above the labels of the axis
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
