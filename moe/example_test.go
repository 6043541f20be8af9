package moe_test

import (
	"fmt"

	"driftlab/moe"
)

// Two engines see slightly different logits. The second flips an expert; with
// the first one's routes replayed it visits the same experts, with gates from
// its own logits.
func Example() {
	gate := moe.Gate{Experts: 4, TopK: 2, Order: moe.TopKThenSoftmax}
	rollout := []float32{2.0, 0.1, 1.01, 1.00}
	learner := []float32{2.0, 0.1, 1.00, 1.01}

	visited, ids, weights := make([]uint8, 2), make([]uint8, 2), make([]float32, 2)
	gate.Select(visited, weights, rollout, nil, 1)
	fmt.Printf("rollout visits %v with gates %.4f\n", visited, weights)
	gate.Select(ids, weights, learner, nil, 1)
	fmt.Printf("learner visits %v with gates %.4f\n", ids, weights)
	gate.Replay(weights, learner, visited, 1)
	fmt.Printf("replay visits  %v with gates %.4f\n", visited, weights)
	// Output:
	// rollout visits [0 2] with gates [0.7291 0.2709]
	// learner visits [0 3] with gates [0.7291 0.2709]
	// replay visits  [0 2] with gates [0.7311 0.2689]
}

// Tokens sorted by expert: expert 0 runs on rows 0 and 2, expert 2 on row 1 ...
func ExampleDispatch() {
	var d moe.Dispatch
	d.Plan([]uint8{0, 1, 2, 1, 0, 2}, 3, 2, 3)
	for e := range d.Experts {
		from, to := d.Span(e)
		fmt.Println("expert", e, "rows", d.Row[from:to])
	}
	// Output:
	// expert 0 rows [0 2]
	// expert 1 rows [0 1]
	// expert 2 rows [1 2]
}
