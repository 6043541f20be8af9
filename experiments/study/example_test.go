package study_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"driftlab/experiments/study"
	"driftlab/trainer/recipe"
)

// A grid in code: two corrections and two seeds, two steps each. A second call would find all four runs made.
func Example() {
	plan, err := study.Parse("grid.yaml", []byte(`
base: default
set: {steps: 2, rollout: {numerics: fp8-w8a8, prompts: 2, max_tokens: 32}, eval: {every: 0, prompts: 8}}
seeds: {first: 1, count: 2}
factors: [{field: correction.weights, values: [none, token_tis]}]
`))
	if err != nil {
		log.Fatal(err)
	}
	grid, err := plan.Grid(func(base string, changes []recipe.Change) (recipe.Recipe, error) {
		r, err := recipe.LoadChanged(base, changes...)
		return r.Resolved(), err
	})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "driftlab")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := grid.Run(context.Background(), study.Options{Dir: dir}); err != nil {
		log.Fatal(err)
	}
	done, err := study.Read(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range done.Rows {
		fmt.Println(row.Values["correction.weights"], "seed", row.Seed, row.Status, "after", row.Steps, "steps")
	}
	// Output:
	// none seed 1 finished after 2 steps
	// none seed 2 finished after 2 steps
	// token_tis seed 1 finished after 2 steps
	// token_tis seed 2 finished after 2 steps
}
