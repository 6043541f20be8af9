package results

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// A heat map shows every figure it has, blue above zero and vermillion below, the
// stronger the farther, and nothing where there is none.
func TestHeat(t *testing.T) {
	h := &Heat{Title: "Heat", Rows: []string{"one", "two"}, Columns: []string{"a", "b"}, Value: [][]float64{{0.5, -0.25}, {math.NaN()}}}
	text := string(SVG(h))
	for _, want := range []string{"+0.50", "-0.25", "one", "two"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not there", want)
		}
	}
	if strings.Contains(text, "NaN") {
		t.Error("an empty cell shows NaN")
	}
	if !bytes.Equal(SVG(h), SVG(h)) {
		t.Error("equal figures give other bytes")
	}
	bare := strings.Count(text, "<path")
	h.Mark = [][]int{{1, -7}, {1}}
	if marked := strings.Count(string(SVG(h)), "<path"); marked != bare+2 {
		t.Errorf("%d triangles, want one in each of two cells", marked-bare)
	}
	if d := h.describe(); !strings.Contains(d, "a 0.50 (up); b -0.25 (down);") {
		t.Errorf("described as %q", d)
	}
	up, down, mild := h.shade(0.5), h.shade(-0.5), h.shade(0.25)
	if up.B <= up.R || down.R <= down.B {
		t.Errorf("above zero %v, below %v", up, down)
	}
	if mild.A >= up.A || h.shade(9).A != up.A {
		t.Errorf("strength %d at a half, %d at full, %d beyond", mild.A, up.A, h.shade(9).A)
	}
}

// A part has its own columns alone and the colours of the whole; a heading that is too
// wide is broken at its hyphens.
func TestHeatPart(t *testing.T) {
	h := &Heat{Rows: []string{"one", "two"}, Columns: []string{"a", "b", "very-long-heading-of-a-column"}, Value: [][]float64{{1, 2, 4}, {3}}, Mark: [][]int{{1, 0, -1}}}
	part := h.Part(1, 3)
	if want := " one: b 2.0; very-long-heading-of-a-column 4.0 (down); two:"; !strings.HasSuffix(part.describe(), want) {
		t.Errorf("described as %q, want %q", part.describe(), want)
	}
	if part.shade(2) != h.shade(2) {
		t.Error("the colours of the part are not those of the whole")
	}
	text := string(SVG(h))
	if !strings.Contains(text, "very-long-") || strings.Contains(text, "very-long-heading-of-a-column<") {
		t.Errorf("the heading is not broken: %s", text)
	}
}

// A sortable table says so, and its cells carry the numbers that they are sorted by.
func TestSortableTable(t *testing.T) {
	table := &Table{Columns: []TableColumn{{Name: "name"}, {Name: "x", Align: Right}}, Sortable: true}
	table.Add(Word("a"), Number(0.123456, 2))
	table.Add(Word("b"), Number(math.NaN(), 2))
	text := table.HTML()
	wellFormed(t, text)
	for _, want := range []string{`class="table sortable"`, `data-value="0.123456">0.12<`, `data-value="nan"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	table.Sortable = false
	if text := table.HTML(); strings.Contains(text, "sortable") || strings.Contains(text, "data-value") {
		t.Errorf("a table that is not: %s", text)
	}
}
