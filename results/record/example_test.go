package record_test

import (
	"fmt"
	"os"
	"path/filepath"

	"driftlab/results/record"
)

// A run is created, fed step by step, finished and read back.
func Example() {
	root, err := os.MkdirTemp("", "runs")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	dir := filepath.Join(root, "demo")

	run, err := record.Create(dir, []byte("name: demo\nseed: 1\n"))
	if err != nil {
		panic(err)
	}
	for step := 1; step <= 3; step++ {
		err := run.Step(step, []record.Metric{{Name: "critic/score/mean", Value: 0.25 * float64(step)}, {Name: "gap/k3", Value: 0}})
		if err != nil {
			panic(err)
		}
	}
	if err := run.Finish(record.Summary{Name: "demo", Seed: 1, Steps: 3, Status: record.StatusFinished}); err != nil {
		panic(err)
	}

	text, _ := os.ReadFile(filepath.Join(dir, record.MetricsFile))
	fmt.Print(string(text))
	kept, err := record.Load(dir)
	if err != nil {
		panic(err)
	}
	last, _ := kept.Column("critic/score/mean").Last()
	fmt.Println(kept.Name, kept.Steps, last, kept.Summary.Status)
	// Output:
	// {"step":1,"critic/score/mean":0.25,"gap/k3":0}
	// {"step":2,"critic/score/mean":0.5,"gap/k3":0}
	// {"step":3,"critic/score/mean":0.75,"gap/k3":0}
	// demo 3 0.75 finished
}
