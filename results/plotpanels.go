package results

import (
	"slices"

	"driftlab/results/figure"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// multiples are charts side by side under one legend, which lists every arm once.
type multiples struct{ *figure.Figure }

const panelWidth, panelHeight, panelGap = 380, 220, 18

func (m multiples) columns() int {
	n := m.PartColumns
	if n <= 0 {
		n = 2
	}
	return max(min(n, len(m.Parts)), 1)
}

func (m multiples) size() (w, h float64) {
	cols := m.columns()
	rows := (len(m.Parts) + cols - 1) / cols
	return float64(cols*panelWidth + (cols-1)*panelGap), float64(rows*(panelHeight+panelGap)) + 50
}

func (m multiples) describe() string {
	d := m.Title + "."
	for i := range m.Parts {
		d += " " + newChart(&m.Parts[i]).describe()
	}
	return d
}

// aligned returns the charts with every arm in the slot of its name, and the
// legend they share.
func (m multiples) aligned() ([]*chart, []key) {
	slots := map[string]int{}
	var keys []key
	charts := make([]*chart, len(m.Parts))
	for i := range m.Parts {
		part := m.Parts[i] // its labels are changed
		c := newChart(&part)
		c.lines = slices.Clone(c.lines)
		for j := range c.lines {
			a := &c.lines[j]
			slot, ok := slots[a.Name]
			if !ok {
				slot = len(keys)
				if a.Slot > 0 {
					slot = a.Slot - 1
				}
				slots[a.Name] = slot
				keys = append(keys, key{name: a.Name, slot: slot})
			}
			a.Slot = slot + 1
		}
		charts[i] = c
	}
	return charts, keys
}

func (m multiples) draw(canvas draw.Canvas, th theme) {
	canvas = heading(canvas, th, m.Title, "")
	if len(m.Parts) == 0 {
		instead(canvas, th, "no data")
		return
	}
	charts, keys := m.aligned()
	cols := m.columns()
	named := m.named((canvas.Size().X - vg.Length(vg.Length(cols-1)*panelGap)) / vg.Length(cols))
	if !named {
		canvas.Max.Y -= drawKeys(canvas, keys, th)
	}
	canvas.Max.Y -= 6
	rows := (len(charts) + cols - 1) / cols
	size := canvas.Size()
	w := (size.X - vg.Length(vg.Length(cols-1)*panelGap)) / vg.Length(cols)
	h := (size.Y - vg.Length(vg.Length(rows-1)*panelGap)) / vg.Length(rows)
	for i := range charts {
		part := canvas
		part.Min.X += vg.Length(vg.Length(i%cols) * (w + panelGap))
		part.Max.X = part.Min.X + w
		part.Max.Y -= vg.Length(vg.Length(i/cols) * (h + panelGap))
		part.Min.Y = part.Max.Y - h
		// The shared legend cannot say what one panel leaves out: its label does.
		for j, a := range charts[i].lines {
			if remark := charts[i].undrawn(j); remark != "" {
				charts[i].Y.Label += "; " + a.Name + remark
			}
		}
		part = heading(part, th, charts[i].Title, charts[i].Y.Label)
		var nameSpace vg.Length
		if named {
			nameSpace = charts[i].namesWidth(w)
		}
		charts[i].axes(part, th, nameSpace)
	}
}

// named reports whether the lines of every panel can carry their names, which
// then need no legend.
func (m multiples) named(width vg.Length) bool {
	for i := range m.Parts {
		if c := newChart(&m.Parts[i]); c.empty() == "" && (c.namesWidth(width) == 0 || len(c.Marks) > 0) {
			return false
		}
	}
	return true
}
