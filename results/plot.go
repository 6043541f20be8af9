package results

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"driftlab/precision/elementary"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// What an axis can show. Values beyond huge stand at its end, spans below tiny
// or below one part in 1/flat of their values are drawn as no span at all: tick
// labels carry twelve digits and could not distinguish their ends.
const (
	huge = 1e300
	tiny = 1e-300
	flat = 1e-9
)

// axisRange chooses the ends of a value axis for data between low and high.
// They are finite, differ by more than flat and, on a log axis, are above zero.
func axisRange(low, high float64, log bool) (float64, float64) {
	switch {
	case !(low <= high) && log: // no data
		return 0.1, 10
	case !(low <= high):
		return 0, 1
	case log: // at least one decade
		a, b := elementary.Log10(clamp(low, tiny, huge)), elementary.Log10(clamp(high, tiny, huge))
		padding := float64(math.Max(0.04*(b-a), (1-(b-a))/2))
		return elementary.Pow(10, math.Max(a-padding, -305)), elementary.Pow(10, math.Min(b+padding, 305))
	}
	a, b := spanOf(low, high)
	padding := float64(0.04 * (b - a))
	if low >= 0 && a-padding < 0 {
		return 0, b + padding // a quantity that cannot be negative keeps its floor
	}
	return a - padding, b + padding
}

// spanOf are the ends of a linear axis without padding beyond the data: low and
// high themselves, spread where they are too close.
func spanOf(low, high float64) (float64, float64) {
	low, high = clamp(low, -huge, huge), clamp(high, -huge, huge)
	size := math.Max(math.Abs(low), math.Abs(high))
	switch {
	case !(low <= high), size <= tiny: // no data, or nothing to measure by
		return 0, 1
	case high-low > math.Max(flat*size, tiny):
		return low, high
	}
	return low - float64(0.2*size), high + float64(0.2*size)
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

// palette is the palette of Okabe and Ito (2008), made for every kind of colour
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

// dashes distinguishes arms that share a colour, and helps in a print without colour.
var dashes = [...][]float64{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}}

// armColor and armDash are the line style of a palette slot, on light paper.
func armColor(slot int) color.NRGBA { return palette[slot%len(palette)] }

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
	return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B)
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

// textStyle is text in Liberation Sans.
func textStyle(size float64, c color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{Color: c, Font: font.From(sansFont, vg.Length(size)), XAlign: x, YAlign: y, Handler: sans()}
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

// within is tx of the value of the axis that is nearest to v.
func (p *plot) within(v float64) vg.Length { return p.tx(clamp(v, p.x.low, p.x.high)) }

// newPlot draws two axes on a canvas: no frame, no marks but their labels, a line below. What is left is for the data.
func newPlot(canvas draw.Canvas, th theme, x, y axis) *plot {
	p := &plot{canvas, x, y, th}
	name, below := textStyle(labelSize, th.muted, draw.XCenter, draw.YBottom), textStyle(tickSize, x.ink, draw.XCenter, draw.YTop)
	left := textStyle(tickSize, y.ink, draw.XRight, draw.YCenter)
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

// axisWidth is the width of the line below a plot.
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
	style := textStyle(labelSize, th.ink, draw.XLeft, draw.YCenter)
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

// rectangle has these sides.
func rectangle(left, bottom, right, top vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: bottom}, {X: right, Y: bottom}, {X: right, Y: top}, {X: left, Y: top}}
}

func drawSwatch(c draw.Canvas, k key, th theme, x, y, width vg.Length) {
	switch {
	case k.block:
		half := vg.Length(width / 2)
		c.FillPolygon(armColor(k.slot), rectangle(x, y-half, x+width, y+half))
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
	style := textStyle(labelSize, nil, draw.XLeft, draw.YTop)
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
	for _, arm := range c.points {
		last := math.Inf(-1)
		for _, p := range arm {
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

// names writes the name of every line at its end, in its colour, spread
// where lines end together.
func (c *chart) names(p *plot) {
	type ending struct {
		name string
		slot int
		y    vg.Length
	}
	var ends []ending
	for i, arm := range c.points {
		for _, q := range slices.Backward(arm) {
			if c.drawable(q.Mean) {
				y := min(max(p.ty(q.Mean), p.Min.Y), p.Max.Y)
				ends = append(ends, ending{c.lines[i].Name, c.slot(i), y})
				break
			}
		}
	}
	// From the top down no name above its line's end, then back up from the floor.
	slices.SortStableFunc(ends, func(a, b ending) int { return cmp.Compare(b.y, a.y) })
	for i := 1; i < len(ends); i++ {
		ends[i].y = min(ends[i].y, ends[i-1].y-nameStep)
	}
	floor := p.Min.Y + labelSize/2 // above the labels of the axis
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i].y = max(ends[i].y, floor)
		floor = ends[i].y + nameStep
	}
	for _, e := range ends {
		p.FillText(textStyle(labelSize, armColor(e.slot), draw.XLeft, draw.YCenter), vg.Point{X: p.Max.X + 6, Y: e.y}, e.name)
	}
}

func (c *chart) size() (w, h float64) { return 560, 320 }

// describe is the text alternative.
func (c *chart) describe() string {
	d, what := c.Title, ". Lines: "
	if c.Kind == figure.Dots {
		what = ". Dots: "
	}
	for _, a := range c.lines {
		d, what = d+what+a.Name, ", "
	}
	return d + "."
}

// keys are the legend's entries: everything that has no name at its end.
func (c *chart) keys(named bool) []key {
	var keys []key
	for i, a := range c.lines {
		if remark := c.remark(i); !named || remark != "" {
			keys = append(keys, key{name: a.Name + remark, slot: c.slot(i)})
		}
	}
	for _, r := range c.Marks {
		keys = append(keys, key{name: r.Name, plain: true})
	}
	return keys
}

// undrawn says why nothing of line i can be drawn, empty where something is, so
// that a matched control with a gap of exactly zero is not taken for a missing one.
func (c *chart) undrawn(i int) string {
	why := c.nothing(c.lines[i : i+1])
	if why == "exactly 0" && !c.Y.Log { // a line at zero
		return ""
	}
	return why
}

// remark is the text of undrawn, shown after a name.
func (c *chart) remark(i int) string {
	if why := c.undrawn(i); why != "" {
		return " (" + why + ")"
	}
	return ""
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
		style := textStyle(line.size, line.color, draw.XLeft, draw.YTop)
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
	x, y := axis{label: c.X.Label, log: c.X.Log, ink: th.muted}, axis{log: c.Y.Log, ink: th.muted}
	x.low, x.high, y.low, y.high = c.extent()
	x.ticks, y.ticks = ticksOf(x.log)(x.low, x.high), ticksOf(y.log)(y.low, y.high)
	// Space for the last tick label, which is centred under the axis' end.
	p := newPlot(draw.Crop(canvas, 0, -max(nameSpace, 14), 0, -2), th, x, y)
	p.grid(&p.y)
	c.curves(p)
	if nameSpace > 0 {
		c.names(p)
	}
}

// instead writes what there is to say of a figure without anything to draw.
func instead(canvas draw.Canvas, th theme, text string) {
	canvas.FillText(textStyle(labelSize, th.muted, draw.XCenter, draw.YCenter), canvas.Center(), text)
}

func (c *chart) extent() (xlow, xhigh, ylow, yhigh float64) {
	xlow, xhigh, ylow, yhigh = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	grow := func(v float64) {
		if c.drawable(v) {
			ylow, yhigh = math.Min(ylow, v), math.Max(yhigh, v)
		}
	}
	for _, arm := range c.points {
		for _, p := range arm {
			xlow, xhigh = math.Min(xlow, p.X), math.Max(xhigh, p.X)
			grow(p.Mean)
			grow(p.Low)
			grow(p.High)
		}
	}
	for _, r := range c.Marks {
		grow(r.At)
	}
	xlow, xhigh = spanOf(xlow, xhigh)
	if y := c.Y; y.Low < y.High {
		return xlow, xhigh, y.Low, y.High
	}
	ylow, yhigh = axisRange(ylow, yhigh, c.Y.Log)
	return xlow, xhigh, ylow, yhigh
}

// drawable reports whether the y axis can show v.
func (c *chart) drawable(v float64) bool { return finite(v) && (!c.Y.Log || v > 0) }

// curves draws the arms of a chart: bands first, then references, then single
// seeds where there is no band, then means, so that no band covers a line.
func (c *chart) curves(p *plot) {
	for i, arm := range c.points {
		if !c.banded() {
			break
		}
		fill := faded(armColor(c.slot(i)), 0x30)
		runs(arm, func(q point) bool { return c.drawable(q.High) && finite(q.Low) }, func(run []point) {
			outline := make([]vg.Point, 0, 2*len(run))
			for _, q := range run {
				outline = append(outline, vg.Point{X: p.tx(q.X), Y: p.ty(q.High)})
			}
			for k := len(run) - 1; k >= 0; k-- {
				low := run[k].Low
				if !c.drawable(low) {
					low = p.y.low // down to the floor of a log axis
				}
				outline = append(outline, vg.Point{X: p.tx(run[k].X), Y: p.ty(low)})
			}
			p.FillPolygon(fill, p.ClipPolygonXY(outline))
		})
	}
	for _, r := range c.Marks {
		if c.drawable(r.At) && r.At >= p.y.low && r.At <= p.y.high {
			p.StrokeLine2(referenceLine(p.th), p.Min.X, p.ty(r.At), p.Max.X, p.ty(r.At))
		}
	}
	for i, arm := range c.points {
		style := meanLine(c.slot(i))
		dot := func(q point) {
			p.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: 2, Shape: draw.CircleGlyph{}}, vg.Point{X: p.tx(q.X), Y: p.ty(q.Mean)})
		}
		if c.Kind == figure.Dots {
			for _, q := range arm {
				dot(q)
			}
			continue
		}
		runs(arm, func(q point) bool { return c.drawable(q.Mean) }, func(run []point) {
			if len(run) == 1 { // a point alone makes no line
				dot(run[0])
				return
			}
			line := stats.Map(run, func(q point) vg.Point { return vg.Point{X: p.tx(q.X), Y: p.ty(q.Mean)} })
			p.StrokeLines(style, p.ClipLinesXY(line)...)
		})
		if at := c.lines[i].Marked; at > 0 && at >= p.x.low && at <= p.x.high {
			p.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: 4, Shape: draw.TriangleGlyph{}}, vg.Point{X: p.tx(at), Y: p.Min.Y + 4})
		}
	}
}

// runs calls visit for every longest stretch of points that satisfy ok.
func runs(points []point, ok func(point) bool, visit func([]point)) {
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
	return b.Y.Log && slices.ContainsFunc(b.Series, func(g figure.Series) bool { return slices.Contains(g.Y, 0) })
}

// dots draws bars on a log axis, where a bar's length would mean nothing: a dot
// for each value, its whisker, and a column of their own for exact zeros.
func (b bars) dots(c *plot) {
	height, _ := b.rowSize()
	zero := c.Min.X
	if b.zeros() {
		floor, _ := b.extent()
		edge := c.within(floor)
		zero = (c.Min.X + edge) / 2
		c.StrokeLine2(draw.LineStyle{Color: c.th.muted, Width: 0.75, Dashes: []vg.Length{1.5, 2.5}}, edge, c.Min.Y, edge, c.Max.Y)
	}
	for i := range b.Labels {
		row := c.ty(float64(len(b.Labels) - 1 - i))
		c.StrokeLine2(draw.LineStyle{Color: c.th.grid, Width: 0.6}, c.Min.X, row, c.Max.X, row)
		highest, farthest := math.NaN(), zero
		for k, g := range b.Series {
			v := at(g.Y, i)
			if math.IsNaN(v) {
				continue
			}
			y := row + vg.Length(height*(float64(float64(len(b.Series)-1)/2)-float64(k)))
			dot := zero
			if v > 0 {
				dot = c.within(v)
			}
			end := dot
			if low, high := at(g.Low, i), at(g.High, i); finite(low) && finite(high) && high > 0 && low < high {
				end = max(end, c.within(high))
				c.StrokeLine2(draw.LineStyle{Color: armColor(k), Width: 1}, c.within(low), y, c.within(high), y)
			}
			c.DrawGlyph(draw.GlyphStyle{Color: armColor(k), Radius: 3, Shape: draw.CircleGlyph{}}, vg.Point{X: dot, Y: y})
			if len(b.Series) <= mostFigures {
				number(c, v, end, y)
			} else if !(v <= highest) {
				highest = v
			}
			farthest = max(farthest, end)
		}
		if len(b.Series) > mostFigures && !math.IsNaN(highest) {
			number(c, highest, farthest, row)
		}
	}
}

func number(c *plot, v float64, x, y vg.Length) {
	style := textStyle(tickSize, c.th.ink, draw.XLeft, draw.YCenter)
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
	return max(min(cmp.Or(m.PartColumns, 2), len(m.Parts)), 1)
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
	w := (canvas.Size().X - vg.Length(vg.Length(cols-1)*panelGap)) / vg.Length(cols)
	// Where the lines of every panel can carry their names there is no legend.
	named := !slices.ContainsFunc(charts, func(c *chart) bool { return c.empty() == "" && (c.namesWidth(w) == 0 || len(c.Marks) > 0) })
	if !named {
		canvas.Max.Y -= drawKeys(canvas, keys, th)
	}
	canvas.Max.Y -= 6
	rows := (len(charts) + cols - 1) / cols
	h := (canvas.Size().Y - vg.Length(vg.Length(rows-1)*panelGap)) / vg.Length(rows)
	for i := range charts {
		part := canvas
		part.Min.X += vg.Length(vg.Length(i%cols) * (w + panelGap))
		part.Max.X = part.Min.X + w
		part.Max.Y -= vg.Length(vg.Length(i/cols) * (h + panelGap))
		part.Min.Y = part.Max.Y - h
		// The shared legend cannot say what one panel leaves out: its label does.
		for j, a := range charts[i].lines {
			if remark := charts[i].remark(j); remark != "" {
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
		b.dots(p)
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
	style := textStyle(tickSize, c.th.ink, draw.XLeft, draw.YCenter)
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
				end = c.within(v)
				c.FillPolygon(armColor(k), rectangle(floor, y-vg.Length(height*0.42), end, y+vg.Length(height*0.42)))
			}
			if low, high := at(g.Low, i), at(g.High, i); finite(low) && finite(high) && low < high {
				left, right := c.within(low), c.within(high)
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

// sign is the sign of a cell's mark.
func sign(row figure.Series, column int) int {
	if column >= len(row.Signs) {
		return 0
	}
	return cmp.Compare(row.Signs[column], 0)
}

// full is the distance from zero at which colours are at their strongest.
func (h heat) full() float64 {
	most := 0.0
	for _, row := range h.Series {
		for _, v := range row.Y {
			if finite(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	return cmp.Or(h.Full, most, 1)
}

func shade(v, full float64) color.NRGBA {
	c := palette[0]
	if v < 0 {
		c = palette[1]
	}
	return faded(c, uint8(float64(210*math.Min(math.Abs(v)/full, 1))))
}

func (h heat) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, h.Title, h.Y.Label)
	if len(h.Series) == 0 || len(h.Labels) == 0 {
		instead(canvas, th, "no data")
		return
	}
	names, figures := textStyle(tickSize, th.ink, draw.XLeft, draw.YCenter), textStyle(tickSize, th.ink, draw.XCenter, draw.YCenter)
	heads := textStyle(tickSize, th.muted, draw.XCenter, draw.YCenter)
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
	full, form := h.full(), "%.2f"
	if slices.ContainsFunc(h.Series, func(row figure.Series) bool { return slices.ContainsFunc(row.Y, func(v float64) bool { return v < 0 }) }) {
		form = "%+.2f" // differences
	}
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
			canvas.FillPolygon(shade(v, full), rectangle(x+1, y+1, x+width-1, top))
			if tip := vg.Length(2.5 * float64(sign(row, j))); tip != 0 {
				canvas.FillPolygon(th.ink, []vg.Point{{X: x + 5, Y: middle - tip}, {X: x + 11, Y: middle - tip}, {X: x + 8, Y: middle + tip}})
			}
			canvas.FillText(figures, vg.Point{X: x + vg.Length(width/2), Y: middle}, fmt.Sprintf(form, v))
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
	first, end := math.MaxInt, 0
	for _, lane := range t.Lanes {
		for _, s := range lane.Spans {
			if s.From < t.X.High && s.To > t.X.Low && s.Version >= 0 {
				first, end = min(first, s.Version), max(end, s.Version+1)
			}
		}
	}
	return first, max(end-first, 0)
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
	label := textStyle(tickSize, th.muted, draw.XLeft, draw.YCenter)
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
	style := textStyle(tickSize, th.muted, draw.XCenter, draw.YTop)
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
		c.FillPolygon(fill, rectangle(from, floor, to, floor+height))
	}
}
