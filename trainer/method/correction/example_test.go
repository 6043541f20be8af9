package correction_test

import (
	"fmt"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
)

// One response, three tokens: the rollout engine was sure of the second token
// where the learner is not.
func ExamplePipeline() {
	b := &batch.Batch{
		Sampled:   batch.Sampled{Offsets: []int{0, 3}, Mask: []bool{true, true, true}, LogpRoll: []float64{-0.6, -2.1, -2.2}},
		Corrected: batch.Corrected{Anchor: []float64{-0.7, -1.0, -2.5}},
	}
	p := &correction.Pipeline{
		Mode:    correction.Decoupled,
		Weights: &correction.TokenTIS{Cap: 2},
		Masks:   []correction.Masking{&correction.TokenMask{Low: 0.8, High: 4}},
	}
	if err := p.Apply(b, correction.AtBatch); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("weights %.3f\n", b.Weight)
	fmt.Println("in the loss", b.LossMask)
	// Output:
	// weights [0.905 2.000 0.741]
	// in the loss [true true false]
}

// A configuration block of verl becomes a pipeline.
func ExampleVerlConfig() {
	p, err := correction.VerlConfig{IS: "token", ISThreshold: "0.5_5.0", RS: "seq_mean_k3,token_k1", RSThreshold: "0.01,2"}.Pipeline()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%T %T %T\n", p.Weights, p.Masks[0], p.Masks[1])
	// Output: *correction.IcePop *correction.DivergenceRejection *correction.K1Rejection
}

// A published preset, as the correction section of a recipe.
func ExamplePipeline_Recipe() {
	p, err := correction.LookupPreset("decoupled_geo_rs_token_tis")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.New().Recipe())
	// Output: correction: {mode: decoupled, weights: {name: token_tis, cap: 2, floor: 0, from_turn: 0}, batch_normalize: false, masks: [{name: seq_mean_k1, low: 0.999, high: 1.001}], order: independent, weights_after: 0, denominator: post, names: verl}
}
