package trainer_test

import (
	"context"
	"fmt"
	"log"

	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

// A run in memory: two steps of a shipped recipe with another rollout engine.
func Example() {
	r, err := recipe.Load("default", "steps=2", "rollout.numerics=bf16", "rollout.prompts=4", "rollout.max_tokens=32", "eval.prompts=16")
	if err != nil {
		log.Fatal(err)
	}
	result, err := trainer.Run(context.Background(), r, trainer.Options{})
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

// The gap between two engines at equal weights; nothing is trained.
func ExampleMeasure() {
	r, err := recipe.Load("default", "rollout.prompts=2", "rollout.max_tokens=32")
	if err != nil {
		log.Fatal(err)
	}
	pairs := trainer.UsualPairs()
	m, err := trainer.Measure(context.Background(), trainer.MeasureRequest{Recipe: r, Pairs: []trainer.Pair{pairs[0], pairs[6]}})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range m.Pairs {
		fmt.Printf("%s samples, %s scores: equal bits %v\n", p.Rollout, p.Learner, p.Gap.Unequal == 0)
	}
	// Output:
	// fp32 samples, fp32 scores: equal bits true
	// fp8-w8a8 samples, bf16 scores: equal bits false
}
