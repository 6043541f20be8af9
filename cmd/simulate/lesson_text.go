package main

import (
	"fmt"
	"math"
	"strings"

	"driftlab/results"
	"driftlab/results/lab/panel"
)

// printPanel writes a panel as text.
func (a *app) printPanel(p panel.Panel) {
	switch p.Kind {
	case panel.Table:
		a.printTable(panelTable(p))
	case panel.Lines:
		a.printTable(curveTable(p))
	case panel.Bars, panel.Histogram:
		a.printTable(barTable(p))
	case panel.Strip:
		fmt.Fprintf(a.stdout, "%s\n%s\n%s\n", p.Title, p.Scale, stripText(p))
	case panel.Working:
		fmt.Fprintln(a.stdout, p.Title)
		for _, f := range p.Formulas {
			fmt.Fprintf(a.stdout, "  %s\n", strings.TrimPrefix(f.Name+": ", ": ")+f.Text)
		}
		fmt.Fprintln(a.stdout)
	default:
		fmt.Fprintf(a.stdout, "%s\n%s\n\n", p.Title, p.Said)
	}
}

// panelTable is a panel's own table.
func panelTable(p panel.Panel) *results.Table {
	t := &results.Table{Title: p.Title, Note: p.Said}
	for _, c := range p.Columns {
		column := results.TableColumn{Name: c.Name}
		if c.Num {
			column.Align = results.Right
		}
		t.Columns = append(t.Columns, column)
	}
	for _, row := range p.Rows {
		var cells []results.Cell
		for _, text := range row {
			cells = append(cells, results.Word(text))
		}
		t.Add(cells...)
	}
	return t
}

// mostRows is how many places of a curve are printed.
const mostRows = 13

// curveTable is a plot as a table: a line for each x, a column for each curve that is
// not one of many.
func curveTable(p panel.Panel) *results.Table {
	t := &results.Table{Title: p.Title, Note: p.Said}
	var thick []panel.Series
	for _, s := range p.Series {
		if !s.Faint {
			thick = append(thick, s)
		}
	}
	if len(thick) == 0 {
		thick = p.Series
	}
	t.Columns = append(t.Columns, results.TableColumn{Name: p.X.Label, Align: results.Right})
	for _, s := range thick {
		t.Columns = append(t.Columns, results.TableColumn{Name: s.Name, Align: results.Right})
	}
	if len(thick) == 0 {
		return t
	}
	x := thick[0].X
	step := max(1, (len(x)+mostRows-1)/mostRows)
	for i := 0; i < len(x); i += step {
		row := []results.Cell{results.Word(fmt.Sprintf("%g", x[i]))}
		for _, s := range thick {
			cell := results.Cell{}
			for j, at := range s.X { // curves of other lengths
				if at == x[i] {
					cell = results.Number(s.Y[j], 3)
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
func barTable(p panel.Panel) *results.Table {
	t := &results.Table{Title: p.Title, Note: p.Said, Columns: []results.TableColumn{{Name: ""}}}
	labels := p.Labels
	for i := range len(p.Edges) - 1 {
		labels = append(labels, results.FormatNumber(p.Edges[i], 2))
	}
	most := 0.0
	for _, s := range p.Series {
		t.Columns = append(t.Columns, results.TableColumn{Name: s.Name, Align: results.Right})
		for _, y := range s.Y {
			most = max(most, y)
		}
	}
	drawn := len(p.Series) == 1 && most > 0 && (p.Y == nil || !p.Y.Log)
	if drawn {
		t.Columns = append(t.Columns, results.TableColumn{Name: ""})
	}
	for i, label := range labels {
		row := []results.Cell{results.Word(label)}
		for _, s := range p.Series {
			cell := results.Number(s.Y[i], 3)
			if p.Y != nil && p.Y.Count {
				cell = results.Word(fmt.Sprintf("%.0f", s.Y[i]))
			}
			row = append(row, cell)
		}
		if drawn {
			row = append(row, results.Word(strings.Repeat("█", int(math.Round(barWidth*p.Series[0].Y[i]/most)))))
		}
		t.Add(row...)
	}
	return t
}

// stripText is tokens in a row: marks of their shade beneath, × for a cross.
func stripText(p panel.Panel) string {
	marks := [...]string{" ", ".", ":", "+", "#"}
	var b strings.Builder
	for _, line := range p.Lines {
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

// chartOf is a panel of curves as a chart for a picture; faint curves are the seeds of
// one line.
func chartOf(p panel.Panel) results.Chart {
	c := results.Chart{Title: p.Title, XLabel: p.X.Label, YLabel: p.Y.Label, LogY: p.Y.Log, Band: results.BandRange}
	if p.Y.High > p.Y.Low {
		c.YRange = [2]float64{p.Y.Low, p.Y.High}
	}
	var seeds results.Arm
	for _, s := range p.Series {
		curve := results.Curve{Name: s.Name, X: s.X, Y: s.Y}
		if s.Faint {
			seeds.Name, seeds.Seeds = "recorded seeds", append(seeds.Seeds, curve)
			continue
		}
		c.Arms = append(c.Arms, results.Arm{Name: s.Name, Seeds: []results.Curve{curve}})
	}
	if len(seeds.Seeds) > 0 {
		c.Arms = append(c.Arms, seeds)
	}
	return c
}
