package guard_test

import (
	"fmt"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/guard"
)

// One of two responses has become twice as likely since it was sampled, the
// other half as likely: the step is taken at a lower rate.
func ExampleApply() {
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 1, 2}, Mask: []bool{true, true}, LogpRoll: []float64{-1.0, -1.0}},
		Old:     batch.Scored{Logp: []float64{-1.0 + 0.693147, -1.0 - 0.693147}},
	}
	guards := []guard.Guard{&guard.ESSLearningRate{Base: 1, Rule: "sqrt"}}
	d, err := guard.Apply(guards, []float32{0.1, -0.2}, guard.Input{Batch: b, Step: 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("lr × %.3f, skip %v\n", d.Scale, d.Skip)
	// Output: lr × 0.857, skip false
}
