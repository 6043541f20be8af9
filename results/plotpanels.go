package results

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Panels are small multiples: charts side by side under one legend, which
// lists every arm once. Arms with the same name keep the same colour.
type Panels struct {
	Title string
	// Columns is the number of charts in a row; 0 means 2.
	Columns int
	Charts  []Chart
}

const panelWidth, panelHeight, panelGap = 380, 220, 18

func (m *Panels) columns() int {
	n := m.Columns
	if n <= 0 {
		n = 2
	}
	return max(min(n, len(m.Charts)), 1)
}

func (m *Panels) size() (w, h float64) {
	cols := m.columns()
	rows := (len(m.Charts) + cols - 1) / cols
	return float64(cols*panelWidth + (cols-1)*panelGap), float64(rows*(panelHeight+panelGap)) + 50
}

func (m *Panels) describe() string {
	d := m.Title + "."
	for i := range m.Charts {
		d += " " + m.Charts[i].describe()
	}
	return d
}

// aligned returns the charts with every arm in the slot of its name, and the
// legend they share.
func (m *Panels) aligned() ([]Chart, []key) {
	slots := map[string]int{}
	var keys []key
	charts := make([]Chart, len(m.Charts))
	for i, c := range m.Charts {
		arms := append([]Arm(nil), c.Arms...)
		for j := range arms {
			slot, ok := slots[arms[j].Name]
			if !ok {
				slot = len(keys)
				if arms[j].Slot > 0 {
					slot = arms[j].Slot - 1
				}
				slots[arms[j].Name] = slot
				keys = append(keys, key{name: arms[j].Name, slot: slot})
			}
			arms[j].Slot = slot + 1
		}
		c.Arms = arms
		charts[i] = c
	}
	return charts, keys
}

func (m *Panels) draw(canvas draw.Canvas, th theme) {
	canvas = (&Chart{Title: m.Title}).heading(canvas, th)
	if len(m.Charts) == 0 {
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
		for j, a := range charts[i].Arms {
			if remark := charts[i].undrawn(j); remark != "" {
				charts[i].YLabel += "; " + a.Name + remark
			}
		}
		part = charts[i].heading(part, th)
		var room vg.Length
		if named {
			room = charts[i].namesWidth(w)
		}
		charts[i].axes(part, th, room)
	}
}

// named reports whether the lines of every panel can carry their names, which
// then need no legend.
func (m *Panels) named(width vg.Length) bool {
	for i := range m.Charts {
		if c := &m.Charts[i]; c.empty() == "" && (c.namesWidth(width) == 0 || len(c.References) > 0) {
			return false
		}
	}
	return true
}
