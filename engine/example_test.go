package engine_test

import (
	"fmt"

	"driftlab/engine"
	"driftlab/model"
)

// Two engines hold the same weights. One computes in fp32, the other in bf16:
// the logits of the same token differ by what the formats declare. Two engines
// of equal numerics agree to the last bit, whatever shares their batch.
func Example() {
	c := model.Config{Layers: 1, DModel: 16, Heads: 2, Experts: 4, Vocab: 5}.WithDefaults()
	params := model.New(c)
	params.Init(1)

	logits := func(name string, sequences ...[]int32) []float32 {
		numerics, _ := engine.Preset(name)
		weights := engine.NewWeights(c, numerics)
		weights.Publish(params, 0)
		var pack engine.Pack
		for _, s := range sequences {
			pack.Add(0, s)
		}
		pass := engine.NewPass(c, 1)
		defer pass.Close()
		pass.Begin(weights, &pack, engine.Options{})
		pass.Forward()
		last := pass.Logits()[(pack.Rows()-1)*c.Vocab:]
		return append([]float32(nil), last...)
	}
	question := []int32{1, 4, 2, 3}
	alone := logits("fp32", question)
	fmt.Printf("fp32 %.4f\n", alone)
	fmt.Printf("bf16 %.4f\n", logits("bf16", question))
	together := logits("fp32", []int32{3, 3, 1}, []int32{2}, question)
	fmt.Println("same bits in a batch:", fmt.Sprint(alone) == fmt.Sprint(together))
	// Output:
	// fp32 [0.8291 0.5603 1.0364 -0.2553 -0.2203]
	// bf16 [0.8281 0.5586 1.0312 -0.2539 -0.2197]
	// same bits in a batch: true
}

// Presets carry the names of checkpoints and serving stacks.
func ExamplePreset() {
	n, _ := engine.Preset("fp8-w8a8")
	fmt.Println("weights", n.Weights, "inputs", n.Inputs, "activations", n.Activations, "reduction", n.Reduction)
	_, known := engine.Preset("fp9")
	fmt.Println(known)
	// Output:
	// weights fp8_e4m3/channel inputs fp8_e4m3/channel activations bf16 reduction canonical
	// false
}
