package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlab/results"
	"driftlab/results/figure"
)

// A table for a README. An exact zero is shown as 0, and nothing else is.
func Example_table() {
	t := figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "rollout"}, {Name: "k3", Unit: "nats", Align: figure.Right}}}
	t.Add(figure.Word("bf16"), figure.Number(0, 2))
	t.Add(figure.Word("fp8-w8a8"), figure.Number(0.00412, 2).As(figure.Bad))
	fmt.Print(t.Markdown())
	// Output:
	// | rollout  |  k3 (nats) |
	// |----------|-----------:|
	// | bf16     |          0 |
	// | fp8-w8a8 | **0.0041** |
}

// A report is one file that needs no other.
func ExampleWriteReport() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	curve := figure.Series{Name: "seed 1", X: []float64{0, 20, 40}, Y: []float64{0.45, 0.7, 0.9}}
	report := results.Report{
		Title: "One run",
		Sections: []results.Section{{Heading: "Reward and pass rate", Blocks: []results.Block{
			results.Prose("The pass rate **doubles**."),
			&figure.Figure{Kind: figure.Lines, Title: "Pass rate", X: figure.Axis{Label: "step"}, Series: []figure.Series{curve}},
		}}},
	}
	path := filepath.Join(dir, "report.html")
	if err := results.WriteReport(path, report); err != nil {
		panic(err)
	}
	page, _ := os.ReadFile(path)
	fmt.Println(strings.Contains(string(page), "<h1>One run</h1>"), strings.Contains(string(page), "default-src 'none'"))
	// Output: true true
}
