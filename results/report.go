package results

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	text "text/template"
	"unicode/utf8"

	"driftlab/results/figure"
	"driftlab/results/record"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Report is the model of the HTML report: what is said, in which order. How it
// looks is WriteReport's business.
type Report struct {
	// Site is the page's file where it is one of the site: the navigation stands above it. Empty elsewhere.
	Site string
	// Title is the page's; Eyebrow is the small line above it, such as the
	// command that made the report; both plain text.
	Title, Eyebrow string
	// Lead is the first paragraph: what was done and what came out. Like all
	// prose it may hold `code` and **strong**.
	Lead string
	// Badges are verdicts next to the lead.
	Badges []Badge
	// Facts are the figures of the run as a whole, shown as tiles.
	Facts []Fact
	// Sections are the body, in order.
	Sections []Section
	// Reruns say how to make every run once more.
	Reruns []Rerun
	// Glossary explains the metrics.
	Glossary []Term
}

// Badge is a short coloured verdict.
type Badge struct {
	Text     string
	Emphasis figure.Emphasis
}

// Fact is one figure with its name.
type Fact struct {
	Name, Value string
}

// Section is a headed part of the report.
type Section struct {
	// ID is the section's anchor; empty for one made of the heading.
	ID      string
	Heading string
	Badges  []Badge
	Blocks  []Block
}

// Block is a part of a section: Prose, Code, a *figure.Figure, Charts, Picture, Fold or Part. Lines are
// drawn by the page's script, bars, maps, timelines and small multiples as SVG.
type Block any

// Prose is a paragraph.
type Prose string

// Code is text to be typed or kept as it is.
type Code string

// Charts are plots of lines, side by side where they fit. Their cursors move together.
type Charts []figure.Figure

// Picture is a drawing that was published as SVG.
type Picture struct {
	SVG       []byte
	Alt, Note string
}

// Data is the drawing for an address.
func (p Picture) Data() template.URL { return template.URL(base64.StdEncoding.EncodeToString(p.SVG)) }

// Fold hides blocks below a line the reader opens.
type Fold struct {
	// ID is its anchor, if it has one.
	ID      string
	Summary string
	Blocks  []Block
}

// Part is a block with markup, style and script of its own. The script runs after the page's,
// and has what that shares.
type Part struct {
	HTML          template.HTML
	Style, Script string
}

// Rerun is a recipe and the command that runs it.
type Rerun struct {
	Name    string
	Command string
	Recipe  string
}

// Term explains a metric.
type Term struct {
	// Name is the metric's name on record.
	Name string
	// Title is a short name for people, the heading of its chart; may be empty.
	Title string
	// Unit is empty for pure numbers.
	Unit string
	// Formula, Meaning and Source are plain text; each may be empty.
	Formula, Meaning, Source string
}

// assets are those of the report; assets/uplot/README.md says where uPlot comes from.
//
//go:embed assets/*.css assets/*.js assets/*.html assets/uplot/uPlot.* assets/uplot/LICENSE
var assets embed.FS

// asset is the text of one of them.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic("results: " + err.Error()) // the names are constants
	}
	return string(text)
}

// Paper is what the report and the lab's page have in common.
type Paper struct{ Style, Early, Library, Script, Licence string }

// SharedPaper returns the stylesheet, with uPlot's, the script that runs before the page is drawn, uPlot, the script that all pages
// share, and uPlot's licence.
func SharedPaper() Paper {
	return Paper{asset("uplot/uPlot.min.css") + "\n" + asset("report.css") + slotRules(), asset("early.js"), asset("uplot/uPlot.iife.min.js"), asset("paper.js"), asset("uplot/LICENSE")}
}

// slotRules names the palette for a stylesheet: --slot1 and so on, on either paper.
func slotRules() string {
	var light, dark strings.Builder
	for i := range palette {
		fmt.Fprintf(&light, "--slot%d: %s; ", i+1, hex(palette[i]))
		fmt.Fprintf(&dark, "--slot%d: %s; ", i+1, hex(darkPalette[i]))
	}
	return ":root { " + light.String() + "}\n:root[data-theme=\"dark\"] { " + dark.String() + "}\n"
}

// WriteReport writes the report as one HTML file that needs nothing else: no
// network, no other file. Equal reports give equal bytes. The file appears
// whole or not at all; errors are FolderErrors.
func WriteReport(path string, r Report) error {
	return record.WriteNew(path, r.HTML())
}

// page is what the template is filled with, and what its parts have said so far. The template's
// policy forbids every request: the page works offline, and a reader's machine does not report
// that it was opened.
type page struct {
	*Report
	Contents        []contents
	Style           template.CSS
	Early           template.JS
	Library, Script template.JS // the library is there where a chart is
	Licence         string
	MetricsFile     string

	parts     *template.Template
	ids       map[string]int  // anchors given, with how often
	group     string          // the section, whose charts share their cursor where they share an axis
	explained map[string]bool // which kinds of band the section has explained
}

type contents struct {
	ID, Heading string
	Badges      []Badge
	Body        template.HTML
}

// newPage is the page of a report without its contents.
func newPage(r *Report) *page {
	p := &page{Report: r, Licence: asset("uplot/LICENSE"), MetricsFile: record.MetricsFile, Early: template.JS(asset("early.js")), ids: map[string]int{}, explained: map[string]bool{},
		Style:  template.CSS(asset("uplot/uPlot.min.css") + "\n" + asset("report.css") + darkRules(`:root[data-theme="dark"] figure.drawing `, func(string) bool { return true })),
		Script: template.JS(asset("paper.js") + asset("report.js"))}
	p.parts = template.Must(template.New("").Funcs(template.FuncMap{
		"render": p.render, "class": emphasisClass, "shade": shadeClass, "site": SiteNav,
		"inline": func(prose any) template.HTML { return inline(fmt.Sprint(prose)) },
	}).Parse(asset("report.html")))
	return p
}

// navigation is the template of the site's navigation.
var navigation = template.Must(template.New("").Parse(asset("site.html")))

// SiteNav is the navigation of the site above one of its pages.
func SiteNav(page string) template.HTML { return filled(navigation, page) }

// filled is the text of a template.
func filled(t interface{ Execute(io.Writer, any) error }, data any) template.HTML {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		panic("results: " + err.Error()) // writing to memory cannot fail, and the data has the fields
	}
	return template.HTML(b.String())
}

// HTMLOf is the markup of blocks for a page that has the shared paper.
func HTMLOf(blocks ...Block) template.HTML { return newPage(new(Report)).part("blocks", blocks) }

// HTML renders the report.
func (r *Report) HTML() []byte {
	p := newPage(r)
	for _, s := range r.Sections {
		p.section(s.ID, s.Heading, s.Badges, "blocks", s.Blocks)
	}
	if len(r.Reruns) > 0 {
		p.section("", "Reproduce", nil, "reruns", r.Reruns)
	}
	if len(r.Glossary) > 0 {
		p.section("", "What the metrics mean", nil, "glossary", r.Glossary)
	}
	return []byte(p.part("page", p))
}

// section adds a section, whose body is a part of the template.
func (p *page) section(id, heading string, badges []Badge, part string, data any) {
	p.group = cmp.Or(id, p.anchor(heading))
	p.Contents = append(p.Contents, contents{p.group, heading, badges, p.part(part, data)})
}

func (p *page) part(name string, data any) template.HTML { return filled(p.parts.Lookup(name), data) }

func (p *page) render(block Block) template.HTML {
	switch b := block.(type) {
	case Prose:
		return p.part("prose", b)
	case Code:
		return p.part("code", b)
	case Charts:
		var charts []Block
		for i := range b {
			charts = append(charts, &b[i])
		}
		return p.part("charts", charts)
	case Fold:
		return p.part("fold", b)
	case Picture:
		return p.part("picture", b)
	case Part:
		if !strings.Contains(string(p.Script), b.Script) || !strings.Contains(string(p.Style), b.Style) { // once for all parts of a kind
			p.Style += template.CSS(b.Style)
			p.Script += template.JS(b.Script)
		}
		return b.HTML
	case *figure.Figure:
		return p.figure(b)
	}
	panic(fmt.Sprintf("results: no rendering for a block of type %T", block))
}

func (p *page) figure(f *figure.Figure) template.HTML {
	switch f.Kind {
	case figure.Table:
		return tableHTML(f)
	case figure.Lines:
		p.Library = template.JS(asset("uplot/uPlot.iife.min.js"))
		return p.part("chart", p.chart(f))
	case figure.Strip:
		return p.part("strip", map[string]any{"Scale": shadeKey(), "Lines": f.Lines, "Note": f.Note})
	}
	return p.part("drawing", map[string]any{"SVG": template.HTML(svg(f, false)), "Note": f.Note})
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9]+`)

func (p *page) anchor(heading string) string {
	s := "s-" + strings.Trim(notInAnchors.ReplaceAllString(strings.ToLower(heading), "-"), "-")
	p.ids[s]++
	if n := p.ids[s]; n > 1 {
		s += "-" + strconv.Itoa(n)
	}
	return s
}

// The marks around the eyebrow in a page.
const eyebrowOpens, eyebrowCloses = "<p class=\"eyebrow\">", "</p>"

// MadeBy is the eyebrow of a page, which as a rule names the command that made it;
// empty for what is no page of WriteReport.
func MadeBy(page []byte) string {
	_, rest, _ := bytes.Cut(page, []byte(eyebrowOpens))
	text, _, ok := bytes.Cut(rest, []byte(eyebrowCloses))
	if !ok {
		return ""
	}
	return html.UnescapeString(string(text))
}

// emphasisClass is the CSS class of an emphasis, empty for Plain.
func emphasisClass(e figure.Emphasis) string {
	return [...]string{"", "muted", "strong", "good", "warn", "bad"}[e]
}

// tableHTML renders a table as a <figure> with a caption and scoped headers. It
// scrolls inside its own box on a narrow screen.
func tableHTML(t *figure.Figure) template.HTML { return filled(tables(), t) }

// tables is the template of a table, which escapes only what it pipes through html: a page has thousands of cells. The number that
// a sortable cell is sorted by is exact.
var tables = sync.OnceValue(func() *text.Template {
	return text.Must(text.New("").Funcs(text.FuncMap{"heads": heads, "entry": figure.Entry, "class": cellClass, "inline": inline,
		"short": func(text string) bool { return utf8.RuneCountInString(text) <= 14 }, // a list of seeds, say, must not wrap on a phone
		"value": func(c figure.Cell) string { return record.FloatText(c.Value) },
	}).Parse(asset("table.html")))
})

// cellClass is the CSS class of a cell's text: words with a judgement are badges.
func cellClass(c figure.Cell) string {
	class := emphasisClass(c.Emphasis)
	if c.Emphasis >= figure.Good && !c.Numeric && c.Text != "" {
		return "badge " + class
	}
	return class
}

// heads reports whether a row is the heading of those below it: a muted word
// and nothing else.
func heads(row []figure.Cell) bool {
	return len(row) > 1 && row[0].Emphasis == figure.Muted && !slices.ContainsFunc(row[1:], func(c figure.Cell) bool { return c.Text != "" })
}

// inline escapes a line of prose for HTML. Of Markdown it knows what a caption
// needs: `code` and **strong**; a mark without its partner stays as it is.
func inline(text string) template.HTML {
	return template.HTML(marked.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(part string) string {
		if code, ok := strings.CutPrefix(part, "`"); ok {
			return "<code>" + strings.TrimSuffix(code, "`") + "</code>"
		}
		return "<strong>" + part[2:len(part)-2] + "</strong>"
	}))
}

var marked = regexp.MustCompile("(?s)`[^`]+`|\\*\\*.+?\\*\\*")

// shades are the least |log ratio| of each depth of colour, with the ratios that are it.
var shades = [...]struct {
	least      float64
	less, more string
}{{0.02, "0.98", "1.02"}, {0.1, "0.90", "1.11"}, {0.3, "0.74", "1.35"}, {math.Ln2, "0.50", "2.00"}}

// RatioLevel is the shade of a token by the log of the ratio of two probabilities, how much
// likelier the second engine finds it: below zero where it finds it less likely.
func RatioLevel(logRatio float64) int {
	depth := 0
	for _, s := range shades {
		if math.Abs(logRatio) >= s.least {
			depth++
		}
	}
	if logRatio < 0 {
		return -depth
	}
	return depth
}

// shadeClass is the class of a token: less or more, and how deep; empty without a shade.
func shadeClass(level int) string {
	switch {
	case level == 0:
		return "token"
	case level < 0:
		return "token less" + strconv.Itoa(-level)
	}
	return "token more" + strconv.Itoa(level)
}

// shadeKey are the shades with the ratios from which on they are used.
func shadeKey() []figure.Token {
	key := []figure.Token{{Text: "1"}}
	for i, s := range shades {
		key = append([]figure.Token{{Text: "below " + s.less, Level: -i - 1}}, append(key, figure.Token{Text: "above " + s.more, Level: i + 1})...)
	}
	return key
}

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
		head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + head + "<style>" + textFonts + "@media (prefers-color-scheme: dark){\n" + darkRules("", func(style string) bool { return strings.Contains(body, style) }) + "}</style>\n"
	}
	return []byte(head + body)
}

// darkRules are the CSS rules that turn the light theme's colours, which the
// drawing carries inline, into the dark theme's, below a selector: those of the inline
// styles that are drawn.
func darkRules(scope string, drawn func(style string) bool) string {
	var b strings.Builder
	pairs := [][2]color.NRGBA{{light.paper, dark.paper}, {light.ink, dark.ink}, {light.muted, dark.muted}, {light.grid, dark.grid}}
	for i := range palette {
		pairs = append(pairs, [2]color.NRGBA{palette[i], darkPalette[i]})
	}
	for _, pair := range pairs {
		from, to := hex(pair[0]), hex(pair[1])
		for _, property := range []string{"fill", "stroke"} {
			if style := property + ":" + from; drawn(style) {
				fmt.Fprintf(&b, "%s[style*=\"%s\"]{%s:%s!important}\n", scope, style, property, to)
			}
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
