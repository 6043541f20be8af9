package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"driftlab/results"
)

// A run is created, fed step by step, finished and read back.
func Example() {
	root, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "demo")

	run, err := results.Create(dir, []byte("name: demo\nseed: 1\n"))
	if err != nil {
		panic(err)
	}
	for step := 1; step <= 3; step++ {
		err := run.Step(step, []results.Metric{{Name: "critic/score/mean", Value: 0.25 * float64(step)}, {Name: "gap/k3", Value: 0}})
		if err != nil {
			panic(err)
		}
	}
	if err := run.Finish(results.Summary{Name: "demo", Seed: 1, Steps: 3, Status: results.StatusFinished}); err != nil {
		panic(err)
	}

	text, _ := os.ReadFile(filepath.Join(dir, results.MetricsFile))
	fmt.Print(string(text))
	record, err := results.Load(dir)
	if err != nil {
		panic(err)
	}
	last, _ := record.Column("critic/score/mean").Last()
	fmt.Println(record.Name, record.Steps, last, record.Summary.Status)
	// Output:
	// {"step":1,"critic/score/mean":0.25,"gap/k3":0}
	// {"step":2,"critic/score/mean":0.5,"gap/k3":0}
	// {"step":3,"critic/score/mean":0.75,"gap/k3":0}
	// demo 3 0.75 finished
}

// A table for a README. An exact zero is shown as 0, and nothing else is.
func ExampleTable_Markdown() {
	t := results.Table{Columns: []results.TableColumn{{Name: "rollout"}, {Name: "k3", Unit: "nats", Align: results.Right}}}
	t.Add(results.Word("bf16"), results.Number(0, 2))
	t.Add(results.Word("fp8-w8a8"), results.Number(0.00412, 2).As(results.Bad))
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
	curve := results.Curve{Name: "seed 1", X: []float64{0, 20, 40}, Y: []float64{0.45, 0.7, 0.9}}
	report := results.Report{
		Title: "One run",
		Sections: []results.Section{{Heading: "What was learnt", Blocks: []results.Block{
			results.Prose("The pass rate **doubles**."),
			&results.Chart{Title: "Pass rate", XLabel: "step", Arms: []results.Arm{{Name: "matched", Seeds: []results.Curve{curve}}}},
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
