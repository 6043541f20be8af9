package experiments_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"driftlab/experiments"
	"driftlab/experiments/measure"
	"driftlab/model"
	"driftlab/results/record"
)

var updateReality = flag.Bool("update-reality", false, "write results/published/reality again; read the difference before committing it")

// The published comparison with real engines is what the dumps in testdata/real give, and
// the README has its summary.
func TestPublishedReality(t *testing.T) {
	var gaps []*measure.RealGap
	for _, engine := range []string{"llama-f16", "llama-bf16", "llama-q8_0", "llama-q4_0", "torch-bf16"} {
		for _, task := range []string{"chain", "filler", "lookup"} {
			text, err := os.ReadFile(fmt.Sprintf("../testdata/real/%s-%s.json", task, engine))
			if err != nil {
				t.Fatal(err)
			}
			dump, err := measure.ParseRealDump(text)
			if err != nil {
				t.Fatal(err)
			}
			ck, err := model.Open(dump.Checkpoint)
			if err != nil {
				t.Fatal(err)
			}
			g, err := measure.CompareReal(ck.Params, dump)
			if err != nil {
				t.Fatal(err)
			}
			gaps = append(gaps, g)
		}
	}
	document, err := record.Document(gaps)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{"reality.json": document, "table.md": []byte(experiments.RealTable(gaps).Markdown())} {
		name = filepath.Join("../results/published/reality", name)
		if *updateReality {
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what the dumps give (%v): simulate measure --real ... --out results/published/reality", name, err)
		}
	}
	summary := experiments.RealSummary(gaps, "filler-base", "lookup-base")
	_, table, _ := strings.Cut(summary.Markdown(), "\n\n")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), strings.TrimSpace(table)) {
		t.Errorf("the README does not have this table:\n%s", table)
	}
	if plot := experiments.RealPlot("llama-f16", gaps); len(plot.Series) != 3 || len(plot.Series[0].X) != 2*gaps[0].Tokens {
		t.Error("the plot of llama-f16 has not every token of three checkpoints")
	}
}
