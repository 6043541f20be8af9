package results

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
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
)

// Paper is what the report and the lab's page have in common.
type Paper struct{ Style, Script, Licence string }

// SharedPaper returns the stylesheet, with uPlot's, and the script, uPlot and what stands on it, and
// uPlot's licence.
func SharedPaper() Paper {
	return Paper{uplotStyle + "\n" + reportStyle + slotRules(), uplotScript + "\n" + paperScript, uplotLicence}
}

// contentPolicy forbids the page every request: it works offline, and a
// reader's machine tells nobody that it was opened.
const contentPolicy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

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

// HTML renders the report.
func (r *Report) HTML() []byte {
	p := newPage()
	p.head(r)
	p.masthead(r)
	sections := newPage() // rendered first: the contents list needs their ids
	links := sections.sections(r)
	if len(links) > 1 {
		p.add("<nav class=\"contents\" aria-label=\"Contents\"><ul>\n")
		for _, l := range links {
			p.add(`<li><a href="#`, l.id, `">`, html.EscapeString(l.heading), "</a></li>\n")
		}
		p.add("</ul></nav>\n")
	}
	p.add("<main id=\"content\">\n", sections.b.String(), "</main>\n")
	p.foot()
	return []byte(p.b.String())
}

// page is the text so far.
type page struct {
	b     strings.Builder
	ids   map[string]int  // ids given, with how often
	group string          // the section, whose charts share their cursor where they share an axis
	told  map[string]bool // which kinds of band the section has explained
}

func newPage() *page { return &page{ids: map[string]int{}, told: map[string]bool{}} }

func (p *page) add(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// link is an entry of the contents list.
type link struct{ id, heading string }

// id makes a unique anchor of a heading.
func (p *page) id(heading string) string {
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

func (p *page) head(r *Report) {
	p.add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
		"<meta http-equiv=\"Content-Security-Policy\" content=\"", contentPolicy, "\">\n",
		"<title>", html.EscapeString(r.Title), "</title>\n<style>\n", uplotStyle, "\n", reportStyle,
		darkRules(`:root[data-theme="dark"] figure.drawing `), "</style>\n",
		// Before the first paint, so that a dark page does not flash.
		"<script>document.documentElement.dataset.theme=matchMedia(\"(prefers-color-scheme: dark)\").matches?\"dark\":\"light\"</script>\n",
		"</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<div class=\"page\">\n")
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

func (p *page) masthead(r *Report) {
	p.add("<header class=\"masthead\">\n<button class=\"theme\" type=\"button\" hidden=\"\">Theme</button>\n")
	eyebrow := r.Eyebrow
	if eyebrow == "" {
		eyebrow = "driftlab report"
	}
	p.add(eyebrowOpens, html.EscapeString(eyebrow), eyebrowCloses, "\n<h1>", html.EscapeString(r.Title), "</h1>\n")
	if r.Lead != "" {
		p.add("<p class=\"lead\">", inline(r.Lead), "</p>\n")
	}
	if len(r.Badges) > 0 {
		p.add("<p>")
		p.badges(r.Badges)
		p.add("</p>\n")
	}
	if len(r.Facts) > 0 {
		p.add("<dl class=\"facts\">\n")
		for _, f := range r.Facts {
			p.add("<div><dt>", html.EscapeString(f.Name), "</dt><dd>", html.EscapeString(f.Value), "</dd></div>\n")
		}
		p.add("</dl>\n")
	}
	p.add("</header>\n")
}

func (p *page) badges(list []Badge) {
	for i, b := range list {
		if i > 0 {
			p.add(" ")
		}
		p.add(`<span class="badge `, emphasisClass(b.Emphasis), `">`, html.EscapeString(b.Text), "</span>")
	}
}

// sections renders the body and returns the links to it.
func (p *page) sections(r *Report) []link {
	var links []link
	open := func(heading string, badges []Badge) {
		id := p.id(heading)
		links = append(links, link{id, heading})
		p.group = id
		p.add(`<section id="`, id, `" aria-labelledby="`, id, "-h\">\n<h2 id=\"", id, `-h">`, html.EscapeString(heading))
		for _, b := range badges {
			p.add(" ")
			p.badges([]Badge{b})
		}
		p.add("</h2>\n")
	}
	for _, s := range r.Sections {
		open(s.Heading, s.Badges)
		p.blocks(s.Blocks)
		p.add("</section>\n")
	}
	if len(r.Reruns) > 0 {
		open("Run it again", nil)
		p.add("<p>A recipe and its seed determine a run to the last bit, on any number of cores.</p>\n")
		for _, a := range r.Reruns {
			p.add("<h3>", html.EscapeString(a.Name), "</h3>\n<pre class=\"command\"><code>", html.EscapeString(a.Command), "</code></pre>\n")
			if a.Recipe != "" {
				p.add("<details class=\"fold\"><summary>The whole recipe</summary>\n<pre><code>", html.EscapeString(a.Recipe), "</code></pre></details>\n")
			}
		}
		p.add("</section>\n")
	}
	if len(r.Glossary) > 0 {
		open("What the metrics mean", nil)
		p.glossary(r.Glossary)
		p.add("</section>\n")
	}
	return links
}

func (p *page) glossary(terms []Term) {
	p.add("<dl class=\"terms\">\n")
	for _, t := range terms {
		p.add("<div><dt><code>", html.EscapeString(t.Name), "</code>")
		if t.Unit != "" {
			p.add(`<span class="unit">`, html.EscapeString(t.Unit), "</span>")
		}
		p.add("</dt>")
		for _, part := range []struct{ class, text string }{{"formula", t.Formula}, {"meaning", t.Meaning}, {"source", t.Source}} {
			if part.text != "" {
				p.add(`<dd class="`, part.class, `">`, html.EscapeString(part.text), "</dd>")
			}
		}
		p.add("</div>\n")
	}
	p.add("</dl>\n")
}

func (p *page) blocks(blocks []Block) {
	for _, block := range blocks {
		switch b := block.(type) {
		case Prose:
			p.add("<p>", inline(string(b)), "</p>\n")
		case Code:
			p.add("<pre><code>", html.EscapeString(string(b)), "</code></pre>\n")
		case *figure.Figure:
			p.figure(b)
		case Charts:
			p.add("<div class=\"charts\">\n")
			for i := range b {
				p.chart(&b[i])
			}
			p.add("</div>\n")
		case Fold:
			p.add("<details class=\"fold\"><summary>", inline(b.Summary), "</summary>\n")
			p.blocks(b.Blocks)
			p.add("</details>\n")
		default:
			panic(fmt.Sprintf("results: no rendering for a block of type %T", block))
		}
	}
}

// figure renders a figure as its kind asks for.
func (p *page) figure(f *figure.Figure) {
	switch f.Kind {
	case figure.Table:
		p.add(tableHTML(f))
	case figure.Lines:
		p.chart(f)
	case figure.Strip:
		p.tokens(f)
	default:
		p.add(`<figure class="drawing"><div class="scroll" role="region" tabindex="0" aria-label="Drawing">`, string(svg(f, false)), "</div>")
		if f.Note != "" {
			p.add("<figcaption>", inline(f.Note), "</figcaption>")
		}
		p.add("</figure>\n")
	}
}

func (p *page) foot() {
	p.add("<footer>\n<p>Made by driftlab. This file is complete in itself and makes no request to any other. ",
		"Charts draw every step on record; their values are rounded to six significant digits, the exact ones are in each run's <code>",
		record.MetricsFile, "</code>. Drag across a chart to zoom, double-click to go back; with the keyboard, arrow keys read the values.</p>\n",
		"<details><summary>Licence of the chart library uPlot 1.6.32</summary><pre>", html.EscapeString(uplotLicence), "</pre></details>\n",
		"</footer>\n</div>\n<script>", uplotScript, "</script>\n<script>\n", paperScript, reportScript, "</script>\n</body>\n</html>\n")
}
