package reference_test

import (
	"fmt"

	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/model"
)

// A pass says what the model computes, without rounding: next-token logits, the experts that each
// token visits, and by how much they were chosen. Its backward pass gives the gradient of any function
// of the logits, here of the log-prob of token 3 after the last row.
func Example() {
	p := enginetest.NewParams(model.Config{Layers: 1, DModel: 8, Heads: 2, Experts: 4, Context: 8, Vocab: 5}, 1)
	m := reference.New(p)
	pass := m.Forward([]int32{1, 4, 2}, nil)
	for i, logits := range pass.Logits {
		fmt.Printf("row %d visits %v, next token %.3f\n", i, pass.Routes[2*i:2*i+2], reference.Softmax(logits))
	}
	fmt.Printf("least lead of a chosen expert: %.3f\n", pass.Margin)

	dLogits := [][]float64{make([]float64, 5), make([]float64, 5), make([]float64, 5)}
	for v, p := range reference.Softmax(pass.Logits[2]) {
		dLogits[2][v] = -p
	}
	dLogits[2][3]++
	pass.Backward(dLogits, nil)
	head := m.Grad[len(m.Grad)-5*8:] // lm_head.weight is the last tensor
	fmt.Printf("gradient of the head's row 3: %.2f\n", head[3*8:4*8])
	// Output:
	// row 0 visits [0 1], next token [0.166 0.389 0.143 0.048 0.254]
	// row 1 visits [3 1], next token [0.232 0.195 0.227 0.278 0.067]
	// row 2 visits [2 1], next token [0.143 0.160 0.167 0.338 0.192]
	// least lead of a chosen expert: 0.196
	// gradient of the head's row 3: [-0.60 0.55 -0.58 -0.04 -0.79 -0.72 -0.12 -0.29]
}
