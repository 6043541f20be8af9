package results

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// textStyle is Liberation Sans, which gonum/plot carries with it.
func textStyle(size float64, c color.Color) text.Style {
	return text.Style{
		Color: c, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size)},
		XAlign: draw.XLeft, YAlign: draw.YTop, Handler: plot.DefaultTextHandler,
	}
}

// Text sizes, in points.
const (
	titleSize = 13
	labelSize = 10
	tickSize  = 9
)

// newPlot is an empty plot in the style of all figures: no frame, a light grid, ticks
// without lines.
func newPlot(th theme) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = textStyle(labelSize, nil).Font
		a.Label.TextStyle.Color = th.muted
		a.Label.Padding = 4
		a.Tick.Label.Font = textStyle(tickSize, nil).Font
		a.Tick.Label.Color = th.muted
		a.Tick.LineStyle = draw.LineStyle{}
		a.Tick.Length = 3
		a.LineStyle = draw.LineStyle{}
		a.Padding = 0
	}
	p.X.LineStyle = draw.LineStyle{Color: th.muted, Width: 0.75}
	p.X.Tick.Length = 5 // no line, but distance from the lowest label of y
	return p
}

// key is one entry of a legend.
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

// drawSwatch draws the sample of a legend entry.
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

// meanLine is the line style of an arm.
func meanLine(slot int) draw.LineStyle {
	style := draw.LineStyle{Color: armColor(slot), Width: 1.6}
	for _, d := range armDash(slot) {
		style.Dashes = append(style.Dashes, vg.Length(d))
	}
	return style
}

// referenceLine is the line style of a Reference.
func referenceLine(th theme) draw.LineStyle {
	return draw.LineStyle{Color: th.muted, Width: 0.9, Dashes: []vg.Length{3, 3}}
}
