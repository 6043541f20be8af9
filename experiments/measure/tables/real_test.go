package tables

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

var updateReality = flag.Bool("update-reality", false, "write results/published/reality again; read the difference before committing it")

// TestPublishedReality: the published comparison with real engines is what the dumps in testdata/real give, those of one engine
// unless the test is exhaustive, and the README has its summary.
func TestPublishedReality(t *testing.T) {
	var gaps, published []*measure.RealGap
	text, err := os.ReadFile("../../../results/published/reality/reality.json")
	if err == nil {
		err = json.Unmarshal(text, &published)
	}
	if err != nil && !*updateReality {
		t.Fatal(err)
	}
	for _, engine := range []string{"llama-f16", "llama-bf16", "llama-q8_0", "llama-q4_0", "onnx-int8", "torch-bf16"} {
		for _, task := range []string{"chain", "filler", "lookup"} {
			if engine != "llama-f16" && !*exhaustive && !*updateReality && len(gaps) < len(published) {
				gaps = append(gaps, published[len(gaps)])
				continue
			}
			text := must.Get(os.ReadFile(fmt.Sprintf("../../../testdata/real/%s-%s.json", task, engine)))(t)
			dump := must.Get(measure.ParseRealDump(text))(t)
			ck := must.Get(model.Open(dump.Checkpoint))(t)
			g := must.Get(measure.CompareReal(ck.Params, dump))(t)
			gaps = append(gaps, g)
		}
	}
	document := must.Get(record.Document(gaps))(t)
	for name, want := range map[string][]byte{"reality.json": document, "table.md": []byte(RealTable(gaps).Markdown())} {
		name = filepath.Join("../../../results/published/reality", name)
		if *updateReality {
			must.Do(t, os.WriteFile(name, want, 0o644))
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the dumps give (%v): simulate measure --real ... --out results/published/reality", name, err)
		}
	}
	summary := realSummary(gaps, "filler-base", "lookup-base")
	_, table, _ := strings.Cut(summary.Markdown(), "\n\n")
	page := must.Get(os.ReadFile("../../README.md"))(t)
	if !strings.Contains(string(page), strings.TrimSpace(table)) {
		t.Errorf("experiments/README.md does not have this table:\n%s", table)
	}
	if plot := RealPlot("llama-f16", gaps); len(plot.Series) != 3 || len(plot.Series[0].X) != gaps[0].Tokens {
		t.Error("the plot of llama-f16 has not every token of three checkpoints")
	}
}

// realSummary is the table of experiments/README.md: it has a row for each engine, and the ratio of k3 and the correlation on each
// of the checkpoints that were not looked at while the numerics were declared.
func realSummary(gaps []*measure.RealGap, checkpoints ...string) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Emulated engines next to real ones",
		Columns: []figure.Column{{Name: "engine"}, {Name: "real program"}}}
	for _, name := range checkpoints {
		t.Columns = append(t.Columns, figure.Column{Name: name + ": tokens", Align: figure.Right}, figure.Column{Name: "k3 real", Align: figure.Right},
			figure.Column{Name: "k3 emulated / real (95 % CI)", Align: figure.Right}, figure.Column{Name: "correlation (95 % CI)", Align: figure.Right})
	}
	seen := map[string]int{}
	for _, g := range gaps {
		column := slices.Index(checkpoints, g.Checkpoint)
		if column < 0 {
			continue
		}
		row, ok := seen[g.Engine]
		if !ok {
			row = len(t.Rows)
			seen[g.Engine] = row
			program, _, _ := strings.Cut(g.Program, " (")
			cells := make([]figure.Cell, len(t.Columns))
			cells[0], cells[1] = figure.Word(g.Engine).As(figure.Strong), figure.Word(program)
			t.Add(cells...)
		}
		at := t.Rows[row][2+4*column:]
		at[0], at[1], at[2], at[3] = figure.Word(fmt.Sprint(g.Tokens)), figure.Number(g.Real.K3, 2), interval(g.K3Ratio, 2), interval(g.Correlation, 3)
	}
	return t
}

// interval is an estimate with its interval in brackets.
func interval(i stats.Interval, digits int) figure.Cell {
	return figure.Word(fmt.Sprintf("%.*f (%.*f to %.*f)", digits, i.Estimate, digits, i.Low, digits, i.High))
}
