package results

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"driftlab/results/figure"
)

// A heat map shows every figure it has, blue above zero and vermillion below, the
// stronger the farther, and nothing where there is none.
func TestHeat(t *testing.T) {
	h := &figure.Figure{Kind: figure.Heat, Title: "Heat", Labels: []string{"a", "b"},
		Series: []figure.Series{{Name: "one", Y: []float64{0.5, -0.25}}, {Name: "two", Y: []float64{math.NaN()}}}}
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
	h.Series[0].Signs, h.Series[1].Signs = []int{1, -7}, []int{1}
	if marked := strings.Count(string(SVG(h)), "<path"); marked != bare+2 {
		t.Errorf("%d triangles, want one in each of two cells", marked-bare)
	}
	if d := (heat{h}).describe(); !strings.Contains(d, "a 0.50 (up); b -0.25 (down);") {
		t.Errorf("described as %q", d)
	}
	full := heat{h}.full()
	up, down, mild := shade(0.5, full), shade(-0.5, full), shade(0.25, full)
	if up.B <= up.R || down.R <= down.B {
		t.Errorf("above zero %v, below %v", up, down)
	}
	if mild.A >= up.A || shade(9, full).A != up.A {
		t.Errorf("strength %d at a half, %d at full, %d beyond", mild.A, up.A, shade(9, full).A)
	}
}

// The description has marks and leaves empty cells out; a heading that is too wide is broken at its hyphens.
func TestHeatHeadings(t *testing.T) {
	h := &figure.Figure{Kind: figure.Heat, Labels: []string{"a", "b", "very-long-heading-of-a-column"},
		Series: []figure.Series{{Name: "one", Y: []float64{1, 2, 4}, Signs: []int{1, 0, -1}}, {Name: "two", Y: []float64{3}}}}
	if got, want := (heat{h}).describe(), " one: a 1.0 (up); b 2.0; very-long-heading-of-a-column 4.0 (down); two: a 3.0;"; !strings.HasSuffix(got, want) {
		t.Errorf("described as %q, want %q", got, want)
	}
	text := string(SVG(h))
	if !strings.Contains(text, "very-long-") || strings.Contains(text, "very-long-heading-of-a-column<") {
		t.Errorf("the heading is not broken: %s", text)
	}
}

// A sortable table says so, and its cells carry the numbers that they are sorted by.
func TestSortableTable(t *testing.T) {
	table := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "name"}, {Name: "x", Align: figure.Right}}, Sortable: true}
	table.Add(figure.Word("a"), figure.Number(0.123456, 2))
	table.Add(figure.Word("b"), figure.Number(math.NaN(), 2))
	text := string(tableHTML(table))
	wellFormed(t, text)
	for _, want := range []string{`class="table sortable"`, `data-value="0.123456">0.12<`, `data-value="nan"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	table.Sortable = false
	if text := string(tableHTML(table)); strings.Contains(text, "sortable") || strings.Contains(text, "data-value") {
		t.Errorf("a table that is not: %s", text)
	}
}
