package main

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// gap is the blank between two columns.
const gap = 2

// fit breaks the cells of a table, the head first, between words, so that it is
// no wider than width. It reports false where a word, such as a number, would
// have to be broken.
func fit(rows [][]string, width int) bool {
	columns := len(rows[0])
	now, least := make([]int, columns), make([]int, columns)
	for _, row := range rows {
		for j, cell := range row {
			now[j] = max(now[j], ansi.StringWidth(cell))
			for word := range strings.FieldsSeq(cell) {
				least[j] = max(least[j], ansi.StringWidth(word))
			}
		}
	}
	total := gap * (columns - 1)
	for _, w := range now {
		total += w
	}
	for ; total > width; total-- {
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
			row[j] = ansi.Wordwrap(cell, now[j], "")
		}
	}
	return true
}

// asRecords shows a table that is too wide for any columns: a row is a few
// lines, each a heading and its cell.
func asRecords(rows [][]string, width int) string {
	var widths []int
	for _, head := range rows[0] {
		widths = append(widths, ansi.StringWidth(head))
	}
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
			room := max(width-left-gap, 10)
			b.WriteString(strings.ReplaceAll(ansi.Wordwrap(cell, room, ""), "\n", "\n"+strings.Repeat(" ", left+gap)) + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
