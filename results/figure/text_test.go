package figure

import "testing"

// TestStripText: shades and crosses stand under their tokens.
func TestStripText(t *testing.T) {
	f := Figure{Lines: []Line{{Title: "one", Tokens: []Token{{Text: "ab", Level: 2}, {Text: "c"}, {Text: "d", Level: 4, Cross: true}}}}}
	if got, want := f.strip(), "one\n  ab c d\n  :    ×\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestCurveTable: many places are thinned, faint curves left out, a gap is empty.
func TestCurveTable(t *testing.T) {
	f := Figure{Kind: Lines, X: Axis{Label: "step"}}
	long := Series{Name: "long"}
	for i := range 30 {
		long.X, long.Y = append(long.X, float64(i)), append(long.Y, float64(i)/10)
	}
	f.Series = []Series{long, {Name: "faint", Faint: true, X: []float64{0}, Y: []float64{1}}, {Name: "brief", X: []float64{0, 3}, Y: []float64{7, 8}}}
	table := f.Tabular()
	if len(table.Columns) != 3 || len(table.Rows) != 10 || table.Rows[1][0].Text != "3" || table.Rows[1][2].Text != "8.00" || table.Rows[2][2].Text != "" {
		t.Errorf("%d columns, rows %+v", len(table.Columns), table.Rows)
	}
}
