package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"driftlab/results"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
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

// unchecked is the writer below a checkedWriter: what detects a terminal and
// its colours looks for a file.
func unchecked(w io.Writer) io.Writer {
	if checked, ok := w.(*checkedWriter); ok {
		return checked.Writer
	}
	return w
}

// colours of emphasis, from the sixteen that every terminal has in its theme.
var colours = map[results.Emphasis]lipgloss.Style{
	results.Plain:  lipgloss.NewStyle(),
	results.Muted:  lipgloss.NewStyle().Faint(true),
	results.Strong: lipgloss.NewStyle().Bold(true),
	results.Good:   lipgloss.NewStyle().Foreground(lipgloss.Green),
	results.Warn:   lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	results.Bad:    lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true),
}

// printTable prints a table: with colours on a terminal, plain elsewhere.
func (a *app) printTable(t *results.Table) {
	heads := make([]string, len(t.Columns))
	for j, c := range t.Columns {
		heads[j] = c.Name
		if c.Unit != "" {
			heads[j] += " (" + c.Unit + ")"
		}
	}
	grid := table.New().Headers(heads...).Border(lipgloss.NormalBorder()).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		StyleFunc(func(row, column int) lipgloss.Style {
			style := lipgloss.NewStyle().Bold(row == table.HeaderRow)
			if row >= 0 && row < len(t.Rows) && column < len(t.Rows[row]) {
				style = colours[t.Rows[row][column].Emphasis]
			}
			if t.Columns[column].Align == results.Right {
				style = style.Align(lipgloss.Right)
			}
			if column < len(t.Columns)-1 {
				style = style.PaddingRight(2)
			}
			return style
		})
	for _, row := range t.Rows {
		cells := make([]string, len(t.Columns))
		for j, c := range row {
			cells[j] = oneLine(c.Text)
		}
		grid.Row(cells...)
	}
	if width := terminalWidth(a.stdout); width > 0 && lipgloss.Width(grid.Render()) > width {
		grid.Width(width)
	}
	text := grid.Render()
	if t.Title != "" {
		text = lipgloss.NewStyle().Bold(true).Render(oneLine(t.Title)) + "\n" + text
	}
	if t.Note != "" {
		for line := range strings.SplitSeq(t.Note, "\n") {
			text += "\n" + lipgloss.NewStyle().Faint(true).Render(oneLine(line))
		}
	}
	if terminalWidth(a.stdout) > 0 {
		lipgloss.Fprintln(unchecked(a.stdout), text)
	} else {
		for line := range strings.SplitSeq(ansi.Strip(text), "\n") {
			fmt.Fprintln(a.stdout, strings.TrimRight(line, " "))
		}
	}
	fmt.Fprintln(a.stdout)
}
