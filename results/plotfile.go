package results

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"path/filepath"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

type drawing interface {
	size() (w, h float64)
	describe() string
	draw(c draw.Canvas, th theme)
}

// drawingOf is how a figure of that kind is drawn: tables, strips and formulas are not.
func drawingOf(f *figure.Figure) drawing {
	switch f.Kind {
	case figure.Lines, figure.Dots:
		return newChart(f)
	case figure.Bars:
		return bars{f}
	case figure.Heat:
		return heat{f}
	case figure.Timeline:
		return timeline{f}
	case figure.Multiples:
		return multiples{f}
	}
	panic(fmt.Sprintf("results: no drawing of a figure of kind %q", f.Kind))
}

// margin surrounds a figure, in points.
const margin = 12

// SVG draws the figure as a file of its own: the fonts are named, the paper is
// explicit, and a dark theme is taken up where the viewer asks for one. Equal
// figures give equal bytes.
func SVG(f *figure.Figure) []byte { return svg(f, true) }

// textFonts is the rule for a file's text: fonts of the widths for which a figure is laid out.
// An embedded font is half a megabyte, and viewers that show a file inside a page do not load it.
const textFonts = `text{font-family:"Liberation Sans",Arimo,Arial,Helvetica,sans-serif}
`

// textStyles are what the drawing says of the font in every text; the rule stands once.
const textStyles = "font-family:Liberation Sans;font-variant:normal;font-weight:normal;font-style:normal;"

// svg draws a figure, either to stand alone or to be part of a page that
// supplies font, paper and theme.
func svg(f *figure.Figure, alone bool) []byte {
	d := drawingOf(f)
	w, h := d.size()
	c := vgsvg.NewWith(vgsvg.UseWH(vg.Length(w), vg.Length(h)), vgsvg.EmbedFonts(false))
	canvas := draw.New(c)
	if alone {
		canvas.SetColor(light.paper)
		canvas.Fill(canvas.Rectangle.Path())
		canvas = draw.Crop(canvas, margin, -margin, margin, -margin)
	} else {
		canvas = draw.Crop(canvas, 0, 0, 2, 0)
	}
	d.draw(canvas, light)
	var b bytes.Buffer
	// Writing to memory cannot fail.
	_, _ = c.WriteTo(&b)
	text := b.String()
	// The declaration and the generator's remark go; a title for those who cannot see comes.
	open := strings.Index(text, "<svg")
	end := open + strings.Index(text[open:], ">") + 1
	body := text[end:]
	head := strings.Replace(text[open:end], "<svg", `<svg role="img"`, 1) + "\n<title>" + html.EscapeString(d.describe()) + "</title>\n"
	if alone {
		body = strings.ReplaceAll(body, textStyles, "")
		head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + head + "<style>" + textFonts + "@media (prefers-color-scheme: dark){\n" + darkRules("") + "}</style>\n"
	}
	return []byte(head + body)
}

// darkRules are the CSS rules that turn the light theme's colours, which the
// drawing carries inline, into the dark theme's, below a selector.
func darkRules(scope string) string {
	var b strings.Builder
	pairs := [][2]color.NRGBA{{light.paper, dark.paper}, {light.ink, dark.ink}, {light.muted, dark.muted}, {light.grid, dark.grid}}
	for i := range palette {
		pairs = append(pairs, [2]color.NRGBA{palette[i], darkPalette[i]})
	}
	for _, pair := range pairs {
		from, to := hex(pair[0]), hex(pair[1])
		for _, property := range []string{"fill", "stroke"} {
			fmt.Fprintf(&b, "%s[style*=\"%s:%s\"]{%s:%s!important}\n", scope, property, from, property, to)
		}
	}
	return b.String()
}

// PNG draws the figure on light paper, at twice its size in points for sharp text on the web.
// Equal figures give equal bytes.
func PNG(f *figure.Figure) []byte {
	d := drawingOf(f)
	w, h := d.size()
	c := vgimg.NewWith(vgimg.UseWH(vg.Length(w), vg.Length(h)), vgimg.UseDPI(144), vgimg.UseBackgroundColor(light.paper))
	d.draw(draw.Crop(draw.New(c), margin, -margin, margin, -margin), light)
	var b bytes.Buffer
	_, _ = vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes()
}

// SavePlot draws the figure to a file; the name's end, .svg or .png, decides
// the format.
func SavePlot(path string, f *figure.Figure) error {
	var data []byte
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg":
		data = SVG(f)
	case ".png":
		data = PNG(f)
	default:
		return &record.FolderError{Path: path, Problem: fmt.Sprintf("plots cannot be written as %q", ext), Fix: "use .svg or .png"}
	}
	return record.WriteNew(path, data)
}
