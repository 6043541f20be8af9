package results

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"driftlab/precision/elementary"
	"driftlab/results/record"
)

// Align is the alignment of a column.
type Align int

// Alignments. Words go left, numbers right.
const (
	Left Align = iota
	Right
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

// class is the CSS class of the emphasis, empty for Plain.
func (e Emphasis) class() string {
	return [...]string{"", "muted", "strong", "good", "warn", "bad"}[e]
}

// TableColumn heads a column.
type TableColumn struct {
	// Name is the heading.
	Name string
	// Unit is shown after the name, in brackets; empty for pure numbers and words.
	Unit string
	// Align is that of heading and cells.
	Align Align
}

// head is the name with its unit.
func (c TableColumn) head() string {
	if c.Unit == "" {
		return c.Name
	}
	return c.Name + " (" + c.Unit + ")"
}

// Cell is one entry: what is shown and, for a number, the value behind it.
type Cell struct {
	// Text is what a reader sees.
	Text string
	// Value is the full number, written to CSV; it counts only where Numeric is true.
	Value   float64
	Numeric bool
	// Emphasis colours the text.
	Emphasis Emphasis
}

// Word is a cell of text.
func Word(text string) Cell { return Cell{Text: text} }

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
		return shortExponent(strconv.FormatFloat(v, 'e', digits-1, 64))
	default:
		// Rounding first lets 999.96 become 1000, not 1.00e3.
		rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
		whole := int(math.Floor(elementary.Log10(math.Abs(rounded)))) + 1
		return strconv.FormatFloat(rounded, 'f', max(digits-whole, 0), 64)
	}
}

// shortExponent turns Go's 1e-05 and 1e+06 into 1e-5 and 1e6.
func shortExponent(s string) string {
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

// Table is a table that knows nothing of how it will be shown.
type Table struct {
	// Title is the caption.
	Title   string
	Columns []TableColumn
	// Rows have one cell per column; missing ones at the end are empty.
	Rows [][]Cell
	// Note is a line under the table; may be empty.
	Note string
	// Sortable lets a reader of the page sort by a column and look for words.
	Sortable bool
}

// Add appends a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// cell returns entry j of a row, empty beyond its end.
func cell(row []Cell, j int) Cell {
	if j < len(row) {
		return row[j]
	}
	return Cell{}
}

// Markdown renders the table for a README: the title in bold, columns padded
// so that the source is readable too.
func (t *Table) Markdown() string {
	escape := strings.NewReplacer("|", `\|`, "\n", " ", "\r", "")
	text := make([][]string, 0, len(t.Rows)+1)
	head := make([]string, len(t.Columns))
	width := make([]int, len(t.Columns))
	for j, c := range t.Columns {
		head[j] = escape.Replace(c.head())
	}
	text = append(text, head)
	for _, row := range t.Rows {
		line := make([]string, len(t.Columns))
		for j := range line {
			c := cell(row, j)
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

// CSV renders the table for a spreadsheet: numbers in full precision, without
// the title and the note.
func (t *Table) CSV() string {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	line := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		line[j] = c.head()
	}
	// Writing to memory cannot fail.
	_ = w.Write(line)
	for _, row := range t.Rows {
		for j := range line {
			c := cell(row, j)
			line[j] = c.Text
			if c.Numeric {
				line[j] = strings.Trim(string(record.AppendFloat(nil, c.Value)), `"`)
			}
		}
		_ = w.Write(line)
	}
	w.Flush()
	return b.String()
}

// HTML renders the table as a <figure> with a caption and scoped headers. It
// scrolls inside its own box on a narrow screen.
func (t *Table) HTML() string {
	var b strings.Builder
	e := html.EscapeString
	class := "table"
	if t.Sortable {
		class += " sortable"
	}
	b.WriteString(`<figure class="` + class + `"><div class="scroll" role="region" tabindex="0" aria-label="` + e(t.label()) + "\">\n<table>\n")
	if t.Title != "" {
		b.WriteString("<caption>" + e(t.Title) + "</caption>\n")
	}
	b.WriteString("<thead><tr>")
	for _, c := range t.Columns {
		b.WriteString(`<th scope="col"` + alignClass(c.Align) + ">" + e(c.Name))
		if c.Unit != "" {
			b.WriteString(` <span class="unit">` + e(c.Unit) + "</span>")
		}
		b.WriteString("</th>")
	}
	b.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString("<tr>")
		if heads(row) {
			fmt.Fprintf(&b, `<th scope="row" colspan="%d">%s</th></tr>`+"\n", len(t.Columns), e(row[0].Text))
			continue
		}
		for j, c := range t.Columns {
			x := cell(row, j)
			writeCell(&b, x, c.Align, j == 0, t.Sortable && x.Numeric)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table></div>\n")
	if t.Note != "" {
		b.WriteString("<figcaption>" + inline(t.Note) + "</figcaption>\n")
	}
	b.WriteString("</figure>\n")
	return b.String()
}

// heads reports whether a row is the heading of those below it: a muted word
// and nothing else.
func heads(row []Cell) bool {
	return len(row) > 1 && row[0].Emphasis == Muted && !slices.ContainsFunc(row[1:], func(c Cell) bool { return c.Text != "" })
}

// label names the table for a screen reader.
func (t *Table) label() string {
	if t.Title != "" {
		return "Table: " + t.Title
	}
	return "Table"
}

// writeCell writes a data cell, or the row's header in the first column; sorted ones
// carry the number that they are sorted by.
func writeCell(b *strings.Builder, c Cell, a Align, head, sorted bool) {
	open, end := "<td"+alignClass(a), "</td>"
	if a == Left && utf8.RuneCountInString(c.Text) <= 14 {
		open = `<td class="short"` // a list of seeds, say, must not wrap on a phone
	}
	if head {
		open, end = `<th scope="row"`+alignClass(a), "</th>"
	}
	if sorted {
		open += ` data-value="` + string(bytes.Trim(record.AppendFloat(nil, c.Value), `"`)) + `"`
	}
	b.WriteString(open + ">")
	text := html.EscapeString(c.Text)
	class := c.Emphasis.class()
	if c.Emphasis >= Good && !c.Numeric && c.Text != "" {
		class = "badge " + class
	}
	if class != "" {
		text = `<span class="` + class + `">` + text + "</span>"
	}
	b.WriteString(text + end)
}

// alignClass is the class attribute of an alignment.
func alignClass(a Align) string {
	if a == Right {
		return ` class="num"`
	}
	return ""
}
