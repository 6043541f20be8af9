package results

import (
	"strings"
	"testing"

	"driftlab/results/figure"
)

func TestTableHTML(t *testing.T) {
	table := &figure.Figure{Kind: figure.Table, Title: "Gap <at> equal weights", Note: "Means over `3` seeds.",
		Columns: []figure.Column{{Name: "rollout"}, {Name: "mean |d|", Unit: "nats", Align: figure.Right}, {Name: "verdict"}}}
	table.Add(figure.Word("fp8 | w8a8"), figure.Number(0.0312345678901, 3).As(figure.Bad), figure.Word("equal bits").As(figure.Good))
	got := string(tableHTML(table))
	wellFormed(t, got)
	for _, want := range []string{
		"<caption>Gap &lt;at&gt; equal weights</caption>",
		`<th scope="col" class="num">mean |d| <span class="unit">nats</span></th>`,
		`<th scope="row">fp8 | w8a8</th>`,
		`<td class="num"><span class="bad">0.0312</span></td>`,
		`<td class="short"><span class="badge good">equal bits</span></td>`,
		`<figcaption>Means over <code>3</code> seeds.</figcaption>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %s in:\n%s", want, got)
		}
	}
}

func TestInline(t *testing.T) {
	for in, want := range map[string]string{
		"a < b & c":              "a &lt; b &amp; c",
		"`a<b` and **c**":        "<code>a&lt;b</code> and <strong>c</strong>",
		"2*3*4 ** and `open":     "2*3*4 ** and `open",
		"**a `b` c**":            "<strong>a `b` c</strong>",
		"``":                     "``",
		"x **bold":               "x **bold",
		"<script>alert</script>": "&lt;script&gt;alert&lt;/script&gt;",
	} {
		if got := string(inline(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// TestTableParts: a muted word alone in its row heads the rows below it.
func TestTableParts(t *testing.T) {
	table := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "run"}, {Name: "verdict"}}}
	table.Add(figure.Word("one <part>").As(figure.Muted), figure.Cell{})
	table.Add(figure.Word("a").As(figure.Muted), figure.Word("held").As(figure.Good))
	table.Add(figure.Word("b"), figure.Cell{})
	text := string(tableHTML(table))
	if want := `<tr><th scope="row" colspan="2">one &lt;part&gt;</th></tr>`; !strings.Contains(text, want) || strings.Count(text, "colspan") != 1 {
		t.Errorf("no single %s in\n%s", want, text)
	}
}
