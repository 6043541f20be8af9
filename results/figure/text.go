package figure

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

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

// mostRows is how many places of a curve are printed.
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
			for j, at := range s.X { // curves of other lengths
				if at == x[i] {
					cell = Number(s.Y[j], 3)
				}
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
