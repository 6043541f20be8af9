package results

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"strings"

	"driftlab/results/figure"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// heat is a table of figures in colours: blue above zero, vermillion below, the
// stronger the farther, with the figure in every cell. A series is a row; a value that
// is NaN or not there leaves its cell empty.
type heat struct{ *figure.Figure }

const heatRow, heatColumn, heatNames = 15, 78, 190

func (h heat) size() (width, height float64) {
	return heatNames + float64(heatColumn*float64(len(h.Labels))), 92 + float64(heatRow*float64(len(h.Series)))
}

func (h heat) describe() string {
	d := h.Title + "."
	for _, row := range h.Series {
		d += " " + row.Name + ":"
		for j, column := range h.Labels {
			if v := at(row.Y, j); !math.IsNaN(v) {
				d += fmt.Sprintf(" %s %s%s;", column, figure.FormatNumber(v, 2), map[int]string{1: " (up)", -1: " (down)"}[sign(row, j)])
			}
		}
	}
	return d
}

// sign is that of a cell's mark.
func sign(row figure.Series, column int) int {
	if column >= len(row.Signs) {
		return 0
	}
	return cmp.Compare(row.Signs[column], 0)
}

// full is the distance from zero of the strongest colour.
func (h heat) full() float64 {
	if h.Full > 0 {
		return h.Full
	}
	most := 0.0
	for _, row := range h.Series {
		for _, v := range row.Y {
			if finite(v) {
				most = max(most, math.Abs(v))
			}
		}
	}
	return most
}

// shade is the colour of a figure.
func (h heat) shade(v float64) color.NRGBA {
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

func (h heat) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, h.Title, h.Y.Label)
	if len(h.Series) == 0 || len(h.Labels) == 0 {
		instead(canvas, th, "no data")
		return
	}
	names, figures := textStyle(tickSize, th.ink), textStyle(tickSize, th.ink)
	names.YAlign = draw.YCenter
	figures.XAlign, figures.YAlign = draw.XCenter, draw.YCenter
	heads := figures
	heads.Color = th.muted
	width := (canvas.Max.X - canvas.Min.X - heatNames) / vg.Length(len(h.Labels))
	left := func(j int) vg.Length { return canvas.Min.X + heatNames + vg.Length(vg.Length(j)*width) }
	headings, most := make([][]string, len(h.Labels)), 0
	for j, name := range h.Labels {
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
	for i, row := range h.Series {
		top := canvas.Max.Y - 18 - vg.Length(vg.Length(i)*heatRow)
		middle := top - vg.Length(heatRow/2.0)
		canvas.FillText(names, vg.Point{X: canvas.Min.X, Y: middle}, row.Name)
		for j := range h.Labels {
			v := at(row.Y, j)
			if !finite(v) {
				continue
			}
			x, y := left(j), top-heatRow
			canvas.FillPolygon(h.shade(v), []vg.Point{{X: x + 1, Y: y + 1}, {X: x + width - 1, Y: y + 1}, {X: x + width - 1, Y: top}, {X: x + 1, Y: top}})
			if tip := vg.Length(2.5 * float64(sign(row, j))); tip != 0 {
				canvas.FillPolygon(th.ink, []vg.Point{{X: x + 5, Y: middle - tip}, {X: x + 11, Y: middle - tip}, {X: x + 8, Y: middle + tip}})
			}
			canvas.FillText(figures, vg.Point{X: x + vg.Length(width/2), Y: middle}, fmt.Sprintf("%+.2f", v))
		}
	}
}
