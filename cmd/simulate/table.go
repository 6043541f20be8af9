package main

import (
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"driftlab/results/figure"
	"driftlab/results/stats"

	"github.com/charmbracelet/x/ansi"
	"golang.org/x/term"
)

// terminalWidth is the width of the terminal that w is, 0 if it is none.
func terminalWidth(w io.Writer) int {
	f, ok := unchecked(w).(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80
	}
	return width
}

// tableWidth is the width that a table may take: what COLUMNS says, or that of
// the terminal; 0 is as much as it needs.
func tableWidth(w io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return terminalWidth(w)
}

// unchecked is the writer below a checkedWriter: what detects a terminal and
// its colours looks for a file.
func unchecked(w io.Writer) io.Writer {
	if checked, ok := w.(*checkedWriter); ok {
		return checked.Writer
	}
	return w
}

// wrapped is text in lines of that width; 0 is no limit.
func wrapped(text string, width int) string {
	return wrap(typable(oneLine(text), programName()), width, "")
}

// wrap breaks a line that is longer than a width between words, and nowhere else: a name with a hyphen stays whole. Lines
// after the first begin with indent.
func wrap(line string, width int, indent string) string {
	if width <= 0 || ansi.StringWidth(line) <= width {
		return line
	}
	text := strings.TrimLeft(line, " ")
	b, used := strings.Builder{}, len(line)-len(text)
	b.WriteString(line[:used])
	for i, word := range strings.Split(text, " ") {
		n := ansi.StringWidth(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

// narrow breaks the lines of a text that are longer than a width: prose alone, since a command, a setting or a path that is broken
// cannot be copied. A line continues two columns further in than it began.
func narrow(text string, width int) string {
	if width <= 0 || ansi.StringWidth(text) <= width {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if commandInText.MatchString(line) || strings.Contains(line, programName()+" ") || strings.ContainsAny(line, "={}\\") {
			continue
		}
		in := len(line) - len(strings.TrimLeft(line, " "))
		lines[i] = wrap(line, width, strings.Repeat(" ", min(in+2, width/2)))
	}
	return strings.Join(lines, "\n")
}

// styles of emphasis, in colours from the sixteen that every terminal has in its theme.
var styles = map[figure.Emphasis]ansi.Style{
	figure.Muted:  ansi.Style{}.Faint(),
	figure.Strong: ansi.Style{}.Bold(),
	figure.Good:   ansi.Style{}.ForegroundColor(ansi.Green),
	figure.Warn:   ansi.Style{}.ForegroundColor(ansi.Yellow),
	figure.Bad:    ansi.Style{}.ForegroundColor(ansi.Red).Bold(),
}

// styled reports whether w is a terminal that shows styles and whose user wants them (no-color.org).
func styled(w io.Writer) bool {
	return terminalWidth(w) > 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// cellTexts are the headings and the rows of a table as text.
func cellTexts(t *figure.Figure) [][]string {
	rows := [][]string{stats.Map(t.Columns, figure.Column.Head)}
	for _, row := range t.Rows {
		cells := make([]string, len(t.Columns))
		for j, c := range row {
			cells[j] = typable(oneLine(c.Text), programName())
		}
		rows = append(rows, cells)
	}
	return rows
}

// grid sets the texts in columns, with a rule below the head.
func grid(t *figure.Figure, rows [][]string) string {
	widths := columnWidths(rows, strings.Lines)
	var lines []string
	for i, row := range rows {
		styled := make([]ansi.Style, len(row))
		for j := range styled {
			switch {
			case i == 0:
				styled[j] = styles[figure.Strong]
			case j < len(t.Rows[i-1]):
				styled[j] = styles[t.Rows[i-1][j].Emphasis]
			}
		}
		lines = append(lines, gridLines(t.Columns, widths, row, styled)...)
		if i == 0 {
			lines = append(lines, strings.Repeat("─", gridWidth(widths)))
		}
	}
	return strings.Join(lines, "\n")
}

// gridLines are the lines of a row, as many as its highest cell has.
func gridLines(columns []figure.Column, widths []int, row []string, styled []ansi.Style) []string {
	cells, height := make([][]string, len(row)), 0
	for j, cell := range row {
		cells[j] = strings.Split(cell, "\n")
		height = max(height, len(cells[j]))
	}
	lines := make([]string, height)
	for y := range lines {
		texts := make([]string, len(row))
		for j, cell := range cells {
			blank := widths[j]
			if y < len(cell) && cell[y] != "" {
				texts[j] = styled[j].Styled(cell[y])
				blank -= ansi.StringWidth(cell[y])
			}
			if columns[j].Align == figure.Right {
				texts[j] = strings.Repeat(" ", blank) + texts[j]
			} else {
				texts[j] += strings.Repeat(" ", blank)
			}
		}
		lines[y] = strings.Join(texts, strings.Repeat(" ", gap))
	}
	return lines
}

// gridWidth is that of columns side by side.
func gridWidth(columns []int) int {
	total := gap * (len(columns) - 1)
	for _, w := range columns {
		total += w
	}
	return total
}

// columnWidths are the widths of each column's widest part: a line, or a word.
func columnWidths(rows [][]string, parts func(cell string) iter.Seq[string]) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for j, cell := range row {
			for part := range parts(cell) {
				widths[j] = max(widths[j], ansi.StringWidth(part))
			}
		}
	}
	return widths
}

// printTable prints a table: with colours on a terminal, plain elsewhere.
func (a *app) printTable(t *figure.Figure) {
	width := tableWidth(a.stdout)
	rows := cellTexts(t)
	var text string
	if width > 0 && !fit(rows, width) {
		text = asRecords(rows, width)
	} else {
		text = grid(t, rows)
	}
	if t.Title != "" {
		text = styledLines(figure.Strong, wrapped(t.Title, width)) + "\n" + text
	}
	if t.Note != "" {
		for line := range strings.SplitSeq(t.Note, "\n") {
			text += "\n" + styledLines(figure.Muted, wrapped(line, width))
		}
	}
	out := unchecked(a.stdout) // the cells are escaped, styles are not
	if !styled(a.stdout) {
		text, out = ansi.Strip(text), a.stdout
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	fmt.Fprintln(a.stdout)
}

// styledLines are the lines of a text, each in a style of its own.
func styledLines(e figure.Emphasis, text string) string {
	return strings.Join(stats.Map(strings.Split(text, "\n"), styles[e].Styled), "\n")
}

// gap is the blank between two columns.
const gap = 2

// fit breaks the cells of a table, the head first, between words, so that it is
// no wider than width. It reports false where a word, such as a number, would
// have to be broken.
func fit(rows [][]string, width int) bool {
	now, least := columnWidths(rows, strings.Lines), columnWidths(rows, strings.FieldsSeq)
	for total := gridWidth(now); total > width; total-- {
		widest := -1
		for j := range now {
			if now[j] > least[j] && (widest < 0 || now[j] > now[widest]) {
				widest = j
			}
		}
		if widest < 0 {
			return false
		}
		now[widest]--
	}
	for _, row := range rows {
		for j, cell := range row {
			row[j] = wrap(cell, now[j], "")
		}
	}
	return true
}

// asRecords shows a table that is too wide for any columns: a row is a few
// lines, each a heading and its cell.
func asRecords(rows [][]string, width int) string {
	widths := stats.Map(rows[0], ansi.StringWidth)
	left := slices.Max(widths)
	var b strings.Builder
	for _, row := range rows[1:] {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		for j, cell := range row {
			if cell == "" {
				continue
			}
			b.WriteString(rows[0][j] + strings.Repeat(" ", left-widths[j]+gap))
			b.WriteString(strings.ReplaceAll(wrap(cell, max(width-left-gap, 1), ""), "\n", "\n"+strings.Repeat(" ", left+gap)) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine is text with every control character written out: names of files,
// recipes and flags are anything, and a terminal obeys control characters.
func oneLine(text string) string {
	return strings.ReplaceAll(escape(text), "\n", `\n`)
}

// escape writes out every control character but the end of a line, and what
// turns the direction of writing. As \u and four digits they are the same text
// in a JSON document; bytes that are no text are \x and two.
func escape(text string) string {
	if !strings.ContainsFunc(text, mustEscape) && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case mustEscape(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}

// mustEscape reports whether a terminal would act on a character instead of
// showing it.
func mustEscape(r rune) bool {
	return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}
