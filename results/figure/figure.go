// Package figure is what can be shown: curves, bars, maps, token strips, tables and timelines,
// worked out to the last number. A report's page, a plot's file, the lab and the terminal
// render the same Figure.
//
// What it is not: it measures nothing, knows no engine, and imports no drawing library. SVG,
// PNG and HTML are made by package results; JSON, for the lab, and text are made here.
package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"driftlab/precision/elementary"
	"driftlab/results/record"

	"go.yaml.in/yaml/v4"
)

// Figure is one plot or one table. Which of the fields below Drag are set depends on its kind.
type Figure struct {
	// When are the values of a lesson's controls with which the figure is shown; none: always.
	When map[string]string `json:"when,omitempty"`
	Kind Kind              `json:"kind"`
	// Name says what is drawn: in the lab a live figure is drawn into the recording of the same name.
	Name string `json:"name,omitempty"`
	// Title stands above.
	Title string `json:"title"`
	// Note stands below: what is seen, or how to read it.
	Note string `json:"said,omitempty"`
	// Guess is the key of the guess that the lab draws in, empty for none.
	Guess string `json:"guess,omitempty"`
	// Drag is a control of the lab that is also set by dragging along an axis of the plot.
	Drag *Drag `json:"drag,omitempty"`

	// X and Y are the axes. Bars and maps have their values on Y.
	X Axis `json:"x,omitzero"`
	Y Axis `json:"y,omitzero"`
	// Series are the lines of a plot, the colours of bars, or the rows of a map.
	Series []Series `json:"series,omitempty"`
	// Labels are the categories of bars, or the columns of a map.
	Labels []string `json:"labels,omitempty"`
	// Lines are the lines of a strip of tokens; Scale says what its shades mean.
	Lines []Line `json:"lines,omitempty"`
	Scale string `json:"scale,omitempty"`
	// Columns and Rows are a table: a cell for each column, where missing ones at the end are empty.
	Columns []Column `json:"columns,omitempty"`
	Rows    [][]Cell `json:"rows,omitempty"`
	// Formulas are lines of arithmetic with their numbers set in.
	Formulas []Formula `json:"formulas,omitempty"`

	// The rest is for pages, plots and the terminal alone.

	// Metric is the name on record of what a plot of lines shows; it may follow the title.
	Metric string `json:"-"`
	// MeanOnly leaves out the band around the mean of a line's seeds, which runs from the lowest to the highest:
	// with three seeds it is the honest choice, as every seed is inside it.
	MeanOnly bool `json:"-"`
	// Marks are levels to compare a plot of lines with, such as that of a baseline, drawn dashed.
	Marks []Mark `json:"-"`
	// Most bounds the values that a page carries for a plot of lines, which then draws
	// only every n-th step; 0 for all.
	Most int `json:"-"`
	// Full is the distance from zero at which a map's colour is at its strongest; 0 is the
	// largest there is.
	Full float64 `json:"-"`
	// Sortable lets a reader of the page sort a table by a column and look for words.
	Sortable bool `json:"-"`
	// Lanes are the rows of a timeline, whose X has the unit of time and its ends.
	Lanes []Lane `json:"-"`
	// Parts are small multiples: plots of lines, PartColumns in a row (0 means 2), under one
	// legend. Series with the same name have the same colour.
	Parts       []Figure `json:"-"`
	PartColumns int      `json:"-"`
}

// Kind is how a figure is drawn.
type Kind string

// Kinds.
const (
	Lines     Kind = "lines"
	Dots      Kind = "dots"
	Bars      Kind = "bars"  // with whiskers, or dots on a log axis
	Strip     Kind = "strip" // tokens in rows; a grid is a strip with a line for each layer
	Table     Kind = "table"
	Working   Kind = "formula"
	Heat      Kind = "heat"     // a map: numbers by row and column, coloured by sign and size
	Timeline  Kind = "timeline" // who did what when
	Multiples Kind = "multiples"
)

// Axis is one axis; Low and High, where they are equal, are left to the data.
type Axis struct {
	// Label names the axis, with its unit where there is one.
	Label string `json:"label"`
	// Log draws the axis in decades; values at or below zero cannot be drawn and are counted.
	Log bool `json:"log,omitempty"`
	// Count shows whole numbers without decimals.
	Count bool    `json:"count,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
}

// Series is a line, a cloud of dots, one bar of each category, or a row of a map. A value
// that is not finite is a gap.
type Series struct {
	Name string `json:"name"`
	// Method chooses colour and dash in the lab: see Method.
	Method Method `json:"method,omitempty"`
	// Faint is one of several recorded runs; the others are drawn thick.
	Faint bool `json:"faint,omitempty"`
	// X increases; it is empty for bars and maps.
	X record.Floats `json:"x,omitempty"`
	Y record.Floats `json:"y"`

	// Low and High are the ends of the whiskers of bars; nil, or NaN entries, for none.
	Low  record.Floats `json:"-"`
	High record.Floats `json:"-"`
	// Signs mark the cells of a map's row: above zero a triangle points up, below zero down.
	Signs []int `json:"-"`
	// Slot is the place in the palette, from 1, so that a line keeps its colour in every
	// plot of a report; 0 takes the place in the plot.
	Slot int `json:"-"`
	// Marked is a place on the x axis that is marked in the colour of a line, such as a limit; 0 for none.
	Marked float64 `json:"-"`
	// Seeds are the curves of a line that is a mean over seeds, in place of X and Y.
	Seeds []Series `json:"-"`
}

// Curves are the line's seeds, or the line itself where it has none.
func (s *Series) Curves() []Series {
	if s.Seeds == nil && len(s.X) > 0 {
		return []Series{*s}
	}
	return s.Seeds
}

// Method is a place in the lab's palette, with a dash of its own.
type Method string

// Methods.
const (
	Equal       Method = "equal"
	Own         Method = "own" // the reader's run
	Uncorrected Method = "none"
	TokenTIS    Method = "token_tis"
	R3          Method = "r3"
	OPSM        Method = "opsm"
	IcePop      Method = "icepop"
	Clip        Method = "clip"
)

// Mark is a horizontal line.
type Mark struct {
	Name string
	At   float64
}

// Drag binds a control to an axis: the option chosen is drawn as a line across the plot,
// and another one below zero.
type Drag struct {
	Control string `json:"control"`
	Axis    string `json:"axis"` // x or y
	// At are the places of the control's options, in their order.
	At []float64 `json:"at"`
	// Names are written at the two lines.
	Names [2]string `json:"names"`
}

// Line is a response, or a layer, token by token.
type Line struct {
	Title  string  `json:"title,omitempty"`
	Tokens []Token `json:"tokens"`
}

// Token is one box of a strip.
type Token struct {
	Text string `json:"text"`
	// Level is the shade, up to 4; below zero in the opposite colour, which the lab has not.
	Level int `json:"level,omitempty"`
	// Cross marks the token by more than its shade.
	Cross bool `json:"cross,omitempty"`
	// Note appears when the token is pointed at.
	Note string `json:"note,omitempty"`
}

// Formula is one line of arithmetic.
type Formula struct {
	// Name is what comes out; Text how, with the numbers.
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// Lane is one row of a timeline.
type Lane struct {
	Name  string
	Spans []Span
}

// Span is a stretch of one kind of work.
type Span struct {
	From, To float64
	// Version chooses the colour; below 0 is work on no version's account, in grey.
	Version int
	// Share is the height of the bar, 0 to 1.
	Share float64
}

// Matching are the figures that the controls' values choose.
func Matching(all []Figure, chosen map[string]string) []Figure {
	var out []Figure
	for _, p := range all {
		matches := true
		for key, value := range p.When {
			matches = matches && (chosen[key] == value || chosen[key] == "")
		}
		if matches {
			out = append(out, p)
		}
	}
	return out
}

// Tabular is a figure as a table for the terminal: a plot of lines with a row for each x,
// bars with a row for each label, and a table itself; nil for what Text writes.
func (f *Figure) Tabular() *Figure {
	switch f.Kind {
	case Table:
		return f
	case Lines:
		return f.curveTable()
	case Bars:
		return f.barTable()
	}
	return nil
}

const mostRows = 13

// curveTable has a row for each x and a column for each curve that is not one of many.
func (f *Figure) curveTable() *Figure {
	t := &Figure{Kind: Table, Title: f.Title, Note: f.Note, Columns: []Column{{Name: f.X.Label, Align: Right}}}
	thick := slices.DeleteFunc(slices.Clone(f.Series), func(s Series) bool { return s.Faint })
	if len(thick) == 0 {
		thick = f.Series
	}
	for _, s := range thick {
		t.Columns = append(t.Columns, Column{Name: s.Name, Align: Right})
	}
	if len(thick) == 0 {
		return t
	}
	x := thick[0].X
	step := max(1, (len(x)+mostRows-1)/mostRows)
	for i := 0; i < len(x); i += step {
		row := Words(fmt.Sprintf("%g", x[i]))
		for _, s := range thick {
			cell := Cell{}
			if j := slices.Index(s.X, x[i]); j >= 0 { // curves of other lengths
				cell = Number(s.Y[j], 3)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}

// barWidth is the longest bar, in characters.
const barWidth = 30

// barTable has a bar for each label; on a log axis it is the number alone.
func (f *Figure) barTable() *Figure {
	t := &Figure{Kind: Table, Title: f.Title, Note: f.Note, Columns: []Column{{Name: ""}}}
	most := 0.0
	for _, s := range f.Series {
		t.Columns = append(t.Columns, Column{Name: s.Name, Align: Right})
		for _, y := range s.Y {
			most = max(most, y)
		}
	}
	drawn := len(f.Series) == 1 && most > 0 && !f.Y.Log
	if drawn {
		t.Columns = append(t.Columns, Column{Name: ""})
	}
	for i, label := range f.Labels {
		row := Words(label)
		for _, s := range f.Series {
			cell := Number(s.Y[i], 3)
			if f.Y.Count {
				cell = Word(fmt.Sprintf("%.0f", s.Y[i]))
			}
			row = append(row, cell)
		}
		if drawn {
			row = append(row, Word(strings.Repeat("█", int(math.Round(barWidth*f.Series[0].Y[i]/most)))))
		}
		t.Add(row...)
	}
	return t
}

// Text is what the terminal shows of a figure that is no table: tokens in rows, formulas, or
// the note alone.
func (f *Figure) Text() string {
	var b strings.Builder
	b.WriteString(f.Title + "\n")
	switch f.Kind {
	case Strip:
		b.WriteString(f.Scale + "\n" + f.strip())
	case Working:
		for _, line := range f.Formulas {
			b.WriteString("  " + strings.TrimPrefix(line.Name+": ", ": ") + line.Text + "\n")
		}
	default:
		b.WriteString(f.Note + "\n")
	}
	return b.String()
}

// strip is tokens in rows: marks of their shade beneath, × for a cross.
func (f *Figure) strip() string {
	marks := [...]string{" ", ".", ":", "+", "#"}
	var b strings.Builder
	for _, line := range f.Lines {
		tokens, shades := "", ""
		for _, t := range line.Tokens {
			mark := marks[min(max(t.Level, 0), len(marks)-1)]
			if t.Cross {
				mark = "×"
			}
			width := max(len([]rune(t.Text)), 1) + 1
			tokens += fmt.Sprintf("%-*s", width, t.Text)
			shades += fmt.Sprintf("%-*s", width, mark)
		}
		if line.Title != "" {
			b.WriteString(line.Title + "\n")
		}
		fmt.Fprintf(&b, "  %s\n  %s\n", strings.TrimRight(tokens, " "), strings.TrimRight(shades, " "))
	}
	return b.String()
}

// Count is a number with what it counts: 1 seed, 3 seeds.
func Count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// Align is the alignment of a column: Right for numbers.
type Align bool

// Alignments. Words go left, numbers right.
const (
	Left  Align = false
	Right Align = true
)

// Emphasis is how much a cell or a badge asks to be noticed, and in which sense.
type Emphasis int

// Emphases. Good, Warn and Bad colour numbers and turn words into badges.
const (
	Plain Emphasis = iota
	Muted
	Strong
	Good
	Warn
	Bad
)

// Column heads a column.
type Column struct {
	// Name is the heading.
	Name string `json:"name"`
	// Unit is shown after the name, in brackets; empty for pure numbers and words.
	Unit string `json:"-"`
	// Align is the alignment of heading and cells.
	Align Align `json:"num,omitempty"`
	// Filter offers the values of the column to choose rows by, where the table is sortable; a cell may have several, with ", " between.
	Filter bool `json:"-"`
}

// Head is the name with its unit.
func (c Column) Head() string {
	if c.Unit == "" {
		return c.Name
	}
	return c.Name + " (" + c.Unit + ")"
}

// Cell is one entry: what is shown and, for a number, its full value.
type Cell struct {
	// Text is what a reader sees.
	Text string
	// Value is the full number; it counts only where Numeric is true.
	Value   float64
	Numeric bool
	// Emphasis colours the text.
	Emphasis Emphasis
	// Link is the address on a page that the text leads to; empty for none.
	Link string
}

// MarshalText is the text: in JSON a cell is what a reader sees.
func (c Cell) MarshalText() ([]byte, error) { return []byte(c.Text), nil }

// UnmarshalText reads a cell of text.
func (c *Cell) UnmarshalText(text []byte) error {
	*c = Word(string(text))
	return nil
}

// Word is a cell of text.
func Word(text string) Cell { return Cell{Text: text} }

// Words are cells of text.
func Words(texts ...string) []Cell {
	cells := make([]Cell, len(texts))
	for i, text := range texts {
		cells[i] = Word(text)
	}
	return cells
}

// Number is a cell that shows v with the given number of significant digits.
// Zero is shown as "0" and nothing else is: a reader may rely on it.
func Number(v float64, digits int) Cell {
	return Cell{Text: FormatNumber(v, digits), Value: v, Numeric: true}
}

// Percent is a cell that shows the share v (0..1) in percent with the given
// decimals. Only none and all are shown as "0%" and "100%": a share that merely
// rounds to them is shown as "<0.1%" or ">99.9%".
func Percent(v float64, decimals int) Cell {
	c := Cell{Value: v, Numeric: true}
	least := elementary.Pow(10, -float64(decimals))
	show := func(percent float64) string { return strconv.FormatFloat(percent, 'f', decimals, 64) + "%" }
	switch {
	case math.IsNaN(v):
		c.Text = "nan"
	case v == 0:
		c.Text = "0%"
	case v == 1:
		c.Text = "100%"
	case v > 0 && 100*v < least/2:
		c.Text = "<" + show(least)
	case v > 0.5 && v < 1 && 100-float64(100*v) <= least/2:
		c.Text = ">" + show(100-least)
	default:
		c.Text = show(100 * v)
	}
	return c
}

// As returns the cell with an emphasis.
func (c Cell) As(e Emphasis) Cell {
	c.Emphasis = e
	return c
}

// FormatNumber shows v with the given number of significant digits: as a plain
// decimal from 1e-3 to 1e6, else with an exponent.
func FormatNumber(v float64, digits int) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+")
	case a == 0:
		return "0"
	case a < 1e-3 || a >= 1e6:
		return ShortExponent(strconv.FormatFloat(v, 'e', digits-1, 64))
	default:
		// Rounding first lets 999.96 become 1000, not 1.00e3.
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
		whole := int(math.Floor(elementary.Log10(math.Abs(rounded)))) + 1
		return strconv.FormatFloat(rounded, 'f', max(digits-whole, 0), 64)
	}
}

// ShortExponent turns Go's 1e-05 and 1e+06 into 1e-5 and 1e6.
func ShortExponent(s string) string {
	mantissa, exponent, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	sign := ""
	if exponent[0] == '-' {
		sign = "-"
	}
	return mantissa + "e" + sign + strings.TrimLeft(exponent, "+-0")
}

// Add appends a row.
func (t *Figure) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// Entry is entry j of a row, empty beyond its end.
func Entry(row []Cell, j int) Cell {
	if j < len(row) {
		return row[j]
	}
	return Cell{}
}

// Markdown renders the table for a README: the title in bold, columns padded
// so that the source is readable too.
func (t *Figure) Markdown() string {
	escape := strings.NewReplacer("|", `\|`, "\n", " ", "\r", "")
	text := make([][]string, 0, len(t.Rows)+1)
	head := make([]string, len(t.Columns))
	width := make([]int, len(t.Columns))
	for j, c := range t.Columns {
		head[j] = escape.Replace(c.Head())
	}
	text = append(text, head)
	for _, row := range t.Rows {
		line := make([]string, len(t.Columns))
		for j := range line {
			c := Entry(row, j)
			line[j] = escape.Replace(c.Text)
			if c.Emphasis > Muted && c.Text != "" {
				line[j] = "**" + line[j] + "**"
			}
		}
		text = append(text, line)
	}
	for _, line := range text {
		for j, s := range line {
			width[j] = max(width[j], utf8.RuneCountInString(s), 3)
		}
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("**" + escape.Replace(t.Title) + "**\n\n")
	}
	for i, line := range text {
		for j, s := range line {
			gap := strings.Repeat(" ", width[j]-utf8.RuneCountInString(s))
			if t.Columns[j].Align == Right {
				s, gap = gap, s
			}
			b.WriteString("| " + s + gap + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			for j, c := range t.Columns {
				rule := strings.Repeat("-", width[j]+1)
				if c.Align == Right {
					b.WriteString("|" + rule + ":")
				} else {
					b.WriteString("|" + rule + "-")
				}
			}
			b.WriteString("|\n")
		}
	}
	if t.Note != "" {
		b.WriteString("\n" + escape.Replace(t.Note) + "\n")
	}
	return b.String()
}

// Heads reads tables without their rows from a text of YAML, which names them: a title, for fmt with the arguments of a call, a note,
// and columns. A column of numbers begins with +, and a unit follows its name after " | ".
func Heads(text []byte) func(name string, args ...any) *Figure {
	read := sync.OnceValue(func() (heads map[string]struct {
		Title, Note string
		Columns     []string
	}) {
		if err := yaml.Load(text, &heads, yaml.WithKnownFields()); err != nil {
			panic("figure: the heads of tables: " + err.Error()) // every table reads them
		}
		return heads
	})
	return func(name string, args ...any) *Figure {
		h, ok := read()[name]
		if !ok {
			panic("figure: there is no table " + name)
		}
		t := &Figure{Kind: Table, Title: fmt.Sprintf(h.Title, args...), Note: h.Note}
		for _, column := range h.Columns {
			column, right := strings.CutPrefix(column, "+")
			title, unit, _ := strings.Cut(column, " | ")
			t.Columns = append(t.Columns, Column{Name: title, Unit: unit, Align: Align(right)})
		}
		return t
	}
}
