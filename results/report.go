package results

import (
	"html/template"

	"driftlab/results/figure"
)

// Report is the model of the HTML report: what is said, in which order. How it
// looks is WriteReport's business.
type Report struct {
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
	Heading string
	Badges  []Badge
	Blocks  []Block
}

// Block is a part of a section: Prose, Code, a *figure.Figure, Charts, Fold or Part. Lines are
// drawn by the page's script, bars, maps, timelines and small multiples as SVG.
type Block any

// Prose is a paragraph.
type Prose string

// Code is text to be typed or kept as it is.
type Code string

// Charts are plots of lines, side by side where they fit. Their cursors move together.
type Charts []figure.Figure

// Fold hides blocks behind a line the reader opens.
type Fold struct {
	Summary string
	Blocks  []Block
}

// Part is a block with markup, style and script of its own. The script runs behind the page's,
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
