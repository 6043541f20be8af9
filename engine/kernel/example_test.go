package kernel_test

import (
	"fmt"

	"driftlab/engine/kernel"
	"driftlab/precision"
)

// One layer under four orders of the same sum. The inputs are exact, yet the
// results differ in the last bits: that is the whole gap between two engines.
func ExampleLinear() {
	const in = 256
	x, w := make([]float32, in), make([]float32, in)
	for i := range in {
		x[i] = 1 / float32(i+1)
		w[i] = float32(i%7) - 2.7
	}
	var weight kernel.Weight
	weight.Pack(w, 1, in, nil)

	for _, order := range []string{"canonical", "unfused", "split_k:4", "tensor_parallel:4:ring:bf16"} {
		r, err := kernel.ParseReduction(order)
		if err != nil {
			fmt.Println(err)
			return
		}
		var y [1]float32
		kernel.Linear(y[:], x, nil, &weight, 1, kernel.Numerics{Reduction: r}, nil)
		fmt.Printf("%-28s %.7f\n", order, y[0])
	}
	// Output:
	// canonical                    -2.0613911
	// unfused                      -2.0613909
	// split_k:4                    -2.0613909
	// tensor_parallel:4:ring:bf16  -2.0468750
}

// A misspelt order is answered with the nearest valid form.
func ExampleParseReduction() {
	_, err := kernel.ParseReduction("splitk:4")
	fmt.Println(err)
	// Output: reduction "splitk:4": unknown order "splitk"; did you mean "split_k:4"?
}

// Prefill and decode give the same bits.
func ExampleAttention_Attend() {
	const rows, heads, headDim, capacity = 3, 1, 2, 16
	q := []float32{1, 0, 0, 1, 1, 1}
	k := []float32{1, 2, 3, 4, 5, 6}
	v := []float32{1, 0, 0, 1, 1, 1}
	cache := kernel.KV{Keys: make([]float32, headDim*capacity), Values: make([]float32, headDim*capacity)}
	kernel.StoreKV(cache, k, v, heads*headDim, rows, 0, heads*headDim)
	a := kernel.NewAttention(heads, heads, headDim, kernel.AttentionNumerics{Scores: precision.BF16, Probs: precision.BF16, Output: precision.BF16})

	var all, one [rows * headDim]float32
	var lse [rows]float32
	var scratch kernel.Scratch
	a.Attend(all[:], lse[:], q, heads*headDim, cache, rows, 1, kernel.KV{}, &scratch)
	for r := range rows {
		a.Attend(one[r*headDim:][:headDim], lse[r:], q[r*headDim:], headDim, cache, 1, r+1, kernel.KV{}, &scratch)
	}
	fmt.Println(all)
	fmt.Println(all == one)
	// Output:
	// [1 0 0.1953125 0.8046875 0.9453125 0.99609375]
	// true
}
