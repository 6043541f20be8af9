package results

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat is a table of figures in colours: blue above zero, vermillion below, the
// stronger the farther, with the figure in every cell.
type Heat struct {
	Title string
	// Note says what the figures are.
	Note string
	// Rows and Columns are the headings, from the top and from the left.
	Rows, Columns []string
	// Value is by row and column; NaN, or an entry that is not there, leaves a cell
	// empty.
	Value [][]float64
	// Mark is by row and column: above zero a triangle that points up stands in the cell,
	// below zero one that points down; nil for none.
	Mark [][]int
	// Full is the distance from zero at which a colour is at its strongest; 0 is the
	// largest there is.
	Full float64
}

const heatRow, heatColumn, heatNames = 15, 78, 190

func (h *Heat) size() (width, height float64) {
	return heatNames + float64(heatColumn*float64(len(h.Columns))), 92 + float64(heatRow*float64(len(h.Rows)))
}

func (h *Heat) describe() string {
	d := h.Title + "."
	for i, row := range h.Rows {
		d += " " + row + ":"
		for j, column := range h.Columns {
			if v := h.at(i, j); !math.IsNaN(v) {
				d += fmt.Sprintf(" %s %s%s;", column, FormatNumber(v, 2), map[int]string{1: " (up)", -1: " (down)"}[h.mark(i, j)])
			}
		}
	}
	return d
}

// Part has the columns from one place up to another, in the same colours.
func (h *Heat) Part(from, to int) *Heat {
	part := &Heat{Title: h.Title, Note: h.Note, Rows: h.Rows, Columns: h.Columns[from:to], Full: h.full()}
	for i := range h.Rows {
		var values []float64
		var marks []int
		for j := from; j < to; j++ {
			values, marks = append(values, h.at(i, j)), append(marks, h.mark(i, j))
		}
		part.Value, part.Mark = append(part.Value, values), append(part.Mark, marks)
	}
	return part
}

// at is the figure of a cell, NaN where there is none.
func (h *Heat) at(row, column int) float64 {
	if row >= len(h.Value) {
		return math.NaN()
	}
	return at(h.Value[row], column)
}

// mark is the sign of a cell's mark.
func (h *Heat) mark(row, column int) int {
	if row >= len(h.Mark) || column >= len(h.Mark[row]) {
		return 0
	}
	return cmp.Compare(h.Mark[row][column], 0)
}

// full is the distance from zero of the strongest colour.
func (h *Heat) full() float64 {
	if h.Full > 0 {
		return h.Full
	}
	most := 0.0
	for _, row := range h.Value {
		for _, v := range row {
			if finite(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	return most
}

// shade is the colour of a figure.
func (h *Heat) shade(v float64) color.NRGBA {
	c := palette[0]
	if v < 0 {
		c = palette[1]
	}
	share := 0.0
	if full := h.full(); full > 0 {
		share = math.Min(math.Abs(v)/full, 1)
	}
	return faded(c, uint8(float64(210*share)))
}

func (h *Heat) draw(canvas draw.Canvas, th theme) {
	canvas = (&Chart{Title: h.Title, YLabel: h.Note}).heading(canvas, th)
	if len(h.Rows) == 0 || len(h.Columns) == 0 {
		instead(canvas, th, "no data")
		return
	}
	names, figures := textStyle(tickSize, th.ink), textStyle(tickSize, th.ink)
	names.YAlign = draw.YCenter
	figures.XAlign, figures.YAlign = draw.XCenter, draw.YCenter
	heads := figures
	heads.Color = th.muted
	width := (canvas.Max.X - canvas.Min.X - heatNames) / vg.Length(len(h.Columns))
	left := func(j int) vg.Length { return canvas.Min.X + heatNames + vg.Length(vg.Length(j)*width) }
	headings, most := make([][]string, len(h.Columns)), 0
	for j, name := range h.Columns {
		headings[j] = wrap(heads, strings.ReplaceAll(name, "-", "- "), width)
		most = max(most, len(headings[j]))
	}
	const line = tickSize + 1
	for j, rows := range headings {
		for k, text := range rows {
			at := vg.Point{X: left(j) + vg.Length(width/2), Y: canvas.Max.Y - 8 - vg.Length(line*(most-len(rows)+k))}
			canvas.FillText(heads, at, strings.ReplaceAll(text, "- ", "-"))
		}
	}
	canvas.Max.Y -= vg.Length(line * (most - 1))
	for i, name := range h.Rows {
		top := canvas.Max.Y - 18 - vg.Length(vg.Length(i)*heatRow)
		middle := top - vg.Length(heatRow/2.0)
		canvas.FillText(names, vg.Point{X: canvas.Min.X, Y: middle}, name)
		for j := range h.Columns {
			v := h.at(i, j)
			if !finite(v) {
				continue
			}
			x, y := left(j), top-heatRow
			canvas.FillPolygon(h.shade(v), []vg.Point{{X: x + 1, Y: y + 1}, {X: x + width - 1, Y: y + 1}, {X: x + width - 1, Y: top}, {X: x + 1, Y: top}})
			if tip := vg.Length(2.5 * float64(h.mark(i, j))); tip != 0 {
				canvas.FillPolygon(th.ink, []vg.Point{{X: x + 5, Y: middle - tip}, {X: x + 11, Y: middle - tip}, {X: x + 8, Y: middle + tip}})
			}
			canvas.FillText(figures, vg.Point{X: x + vg.Length(width/2), Y: middle}, fmt.Sprintf("%+.2f", v))
		}
	}
}
