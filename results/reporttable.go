package results

import (
	"bytes"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode/utf8"

	"driftlab/results/figure"
	"driftlab/results/record"
)

// emphasisClass is the CSS class of an emphasis, empty for Plain.
func emphasisClass(e figure.Emphasis) string {
	return [...]string{"", "muted", "strong", "good", "warn", "bad"}[e]
}

// tableHTML renders a table as a <figure> with a caption and scoped headers. It
// scrolls inside its own box on a narrow screen.
func tableHTML(t *figure.Figure) template.HTML {
	var b strings.Builder
	e := template.HTMLEscapeString
	class := "table"
	if t.Sortable {
		class += " sortable"
	}
	b.WriteString(`<figure class="` + class + `"><div class="scroll" role="region" tabindex="0" aria-label="` + e(tableLabel(t)) + "\">\n<table>\n")
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
			x := figure.Entry(row, j)
			writeCell(&b, x, c.Align, j == 0, t.Sortable && x.Numeric)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</tbody>\n</table></div>\n")
	if t.Note != "" {
		b.WriteString("<figcaption>" + string(inline(t.Note)) + "</figcaption>\n")
	}
	b.WriteString("</figure>\n")
	return template.HTML(b.String())
}

// heads reports whether a row is the heading of those below it: a muted word
// and nothing else.
func heads(row []figure.Cell) bool {
	return len(row) > 1 && row[0].Emphasis == figure.Muted && !slices.ContainsFunc(row[1:], func(c figure.Cell) bool { return c.Text != "" })
}

// tableLabel names the table for a screen reader.
func tableLabel(t *figure.Figure) string {
	if t.Title != "" {
		return "Table: " + t.Title
	}
	return "Table"
}

// writeCell writes a data cell, or the row's header in the first column; sorted ones
// carry the number that they are sorted by.
func writeCell(b *strings.Builder, c figure.Cell, a figure.Align, head, sorted bool) {
	open, end := "<td"+alignClass(a), "</td>"
	if a == figure.Left && utf8.RuneCountInString(c.Text) <= 14 {
		open = `<td class="short"` // a list of seeds, say, must not wrap on a phone
	}
	if head {
		open, end = `<th scope="row"`+alignClass(a), "</th>"
	}
	if sorted {
		open += ` data-value="` + string(bytes.Trim(record.AppendFloat(nil, c.Value), `"`)) + `"`
	}
	b.WriteString(open + ">")
	text := template.HTMLEscapeString(c.Text)
	class := emphasisClass(c.Emphasis)
	if c.Emphasis >= figure.Good && !c.Numeric && c.Text != "" {
		class = "badge " + class
	}
	if class != "" {
		text = `<span class="` + class + `">` + text + "</span>"
	}
	b.WriteString(text + end)
}

// alignClass is the class attribute of an alignment.
func alignClass(a figure.Align) string {
	if a == figure.Right {
		return ` class="num"`
	}
	return ""
}
