package figure

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"driftlab/precision/elementary"

	"go.yaml.in/yaml/v4"
)

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
	// Align is that of heading and cells.
	Align Align `json:"num,omitempty"`
}

// Head is the name with its unit.
func (c Column) Head() string {
	if c.Unit == "" {
		return c.Name
	}
	return c.Name + " (" + c.Unit + ")"
}

// Cell is one entry: what is shown and, for a number, the value behind it.
type Cell struct {
	// Text is what a reader sees.
	Text string
	// Value is the full number; it counts only where Numeric is true.
	Value   float64
	Numeric bool
	// Emphasis colours the text.
	Emphasis Emphasis
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
