package enginetest_test

import (
	"fmt"

	"driftlab/engine/enginetest"
	"driftlab/model"
)

// The reference says what the model computes, without rounding: next-token
// logits, the experts each token visits, and by how much they were chosen.
func Example() {
	p := enginetest.NewParams(model.Config{Layers: 1, DModel: 8, Heads: 2, Experts: 4, Context: 8, Vocab: 5}, 1)
	trace := enginetest.NewReference(p).Forward([]int32{1, 4, 2}, nil)
	for i, logits := range trace.Logits {
		fmt.Printf("row %d visits %v, next token %.3f\n", i, trace.Routes[2*i:2*i+2], enginetest.Softmax(logits))
	}
	fmt.Printf("least lead of a chosen expert: %.3f\n", trace.Margin)
	// Output:
	// row 0 visits [0 1], next token [0.166 0.389 0.143 0.048 0.254]
	// row 1 visits [3 1], next token [0.232 0.195 0.227 0.278 0.067]
	// row 2 visits [2 1], next token [0.143 0.160 0.167 0.338 0.192]
	// least lead of a chosen expert: 0.196
}
