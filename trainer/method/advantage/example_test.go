package advantage_test

import (
	"fmt"

	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
)

// Two prompts with three responses each; the second was answered right by all.
func ExampleGRPO() {
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 1, 2, 3, 4, 5, 6}, Mask: []bool{true, true, true, true, true, true}, Group: []int{0, 0, 0, 1, 1, 1}},
		Graded:  batch.Graded{Reward: []float64{1, 0, 0, 1, 1, 1}},
	}
	e, err := advantage.Registry.Lookup("grpo")
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := e.New().Estimate(b); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", b.Advantage)
	// Output: [1.155 -0.577 -0.577 0.000 0.000 0.000]
}
