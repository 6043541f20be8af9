package run_test

import (
	"context"
	"fmt"
	"log"

	"driftlab/experiments/run"
	"driftlab/trainer/recipe"
)

// A run in memory: two steps of a shipped recipe with another rollout engine.
func Example() {
	r, err := recipe.Load("default", "steps=2", "rollout.numerics=bf16", "rollout.prompts=4", "rollout.max_tokens=32", "eval.prompts=16")
	if err != nil {
		log.Fatal(err)
	}
	result, err := run.Run(context.Background(), r, run.Options{})
	if err != nil {
		log.Fatal(err)
	}
	gap, _ := result.Record.Column("gap/k3").Last()
	fmt.Println(result.Summary.Status, "after", result.Record.Steps, "steps")
	fmt.Println("the engines differ:", gap > 0)
	// Output:
	// finished after 2 steps
	// the engines differ: true
}
