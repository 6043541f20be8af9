package results

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// The assets of the report; assets/uplot/README.md says where uPlot comes from.
var (
	//go:embed assets/uplot/uPlot.iife.min.js
	uplotScript string
	//go:embed assets/uplot/uPlot.min.css
	uplotStyle string
	//go:embed assets/uplot/LICENSE
	uplotLicence string
	//go:embed assets/report.css
	reportStyle string
	//go:embed assets/paper.js
	paperScript string
	//go:embed assets/report.js
	reportScript string
	//go:embed assets/report.html
	reportTemplate string
)

// Paper is what the report and the lab's page have in common.
type Paper struct{ Style, Script, Licence string }

// SharedPaper returns the stylesheet, with uPlot's, and the script, uPlot and what stands on it, and
// uPlot's licence.
func SharedPaper() Paper {
	return Paper{uplotStyle + "\n" + reportStyle + slotRules(), uplotScript + "\n" + paperScript, uplotLicence}
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
// policy forbids every request: the page works offline, and a reader's machine tells nobody
// that it was opened.
type page struct {
	*Report
	Contents        []contents
	Style           template.CSS
	Library, Script template.JS // the library is there where a chart is
	Licence         string
	MetricsFile     string

	parts     *template.Template
	ids       map[string]int  // anchors given, with how often
	group     string          // the section, whose charts share their cursor where they share an axis
	explained map[string]bool // which kinds of band the section has explained
}

// contents is a section with its anchor.
type contents struct {
	ID, Heading string
	Badges      []Badge
	Body        template.HTML
}

// newPage is the page of a report without its contents.
func newPage(r *Report) *page {
	p := &page{Report: r, Licence: uplotLicence, MetricsFile: record.MetricsFile, ids: map[string]int{}, explained: map[string]bool{},
		Style:  template.CSS(uplotStyle + "\n" + reportStyle + darkRules(`:root[data-theme="dark"] figure.drawing `)),
		Script: template.JS(paperScript + reportScript)}
	p.parts = template.Must(template.New("").Funcs(template.FuncMap{
		"render": p.render, "class": emphasisClass, "shade": shadeClass,
		"inline": func(prose any) template.HTML { return inline(fmt.Sprint(prose)) },
	}).Parse(reportTemplate))
	return p
}

// HTML renders the report.
func (r *Report) HTML() []byte {
	p := newPage(r)
	for _, s := range r.Sections {
		p.section(s.Heading, s.Badges, "blocks", s.Blocks)
	}
	if len(r.Reruns) > 0 {
		p.section("Reproduce", nil, "reruns", r.Reruns)
	}
	if len(r.Glossary) > 0 {
		p.section("What the metrics mean", nil, "glossary", r.Glossary)
	}
	return []byte(p.part("page", p))
}

// section adds a section, whose body is a part of the template.
func (p *page) section(heading string, badges []Badge, part string, data any) {
	p.group = p.anchor(heading)
	p.Contents = append(p.Contents, contents{p.group, heading, badges, p.part(part, data)})
}

// part fills in a part of the template.
func (p *page) part(name string, data any) template.HTML {
	var b strings.Builder
	if err := p.parts.ExecuteTemplate(&b, name, data); err != nil {
		panic("results: " + err.Error()) // writing to memory cannot fail, and the data has the fields
	}
	return template.HTML(b.String())
}

// render renders a block.
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
	case Part:
		p.Style += template.CSS(b.Style)
		p.Script += template.JS(b.Script)
		return b.HTML
	case *figure.Figure:
		return p.figure(b)
	}
	panic(fmt.Sprintf("results: no rendering for a block of type %T", block))
}

// figure renders a figure as its kind asks for.
func (p *page) figure(f *figure.Figure) template.HTML {
	switch f.Kind {
	case figure.Table:
		return tableHTML(f)
	case figure.Lines:
		p.Library = template.JS(uplotScript)
		return p.part("chart", p.chart(f))
	case figure.Strip:
		return p.part("strip", map[string]any{"Scale": shadeKey(), "Lines": f.Lines, "Note": f.Note})
	}
	return p.part("drawing", map[string]any{"SVG": template.HTML(svg(f, false)), "Note": f.Note})
}

// anchor makes a unique anchor of a heading.
func (p *page) anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	s := "s-" + strings.Trim(b.String(), "-")
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
