package loss

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

func ExampleEvaluate() {
	in := &batch.Batch{
		Sampled:   batch.Sampled{Offsets: []int{0, 3}, Mask: []bool{true, true, true}},
		Now:       batch.Scored{Logp: []float64{-0.5, -1.2, -2.0}},
		Corrected: batch.Corrected{Anchor: []float64{-0.7, -1.0, -2.5}},
		Ref:       batch.Scored{Logp: []float64{-0.9, -0.8, -2.1}},
		Graded:    batch.Graded{Advantage: []float64{-1, -1, -1}},
	}
	policy, kl := method.New[PPOClip](), NewKLTerm(K3)
	policy.DualClip = 1.5
	kl.Coef = 0.1
	var out Grad
	if err := Evaluate(&out, in, policy, kl); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("loss %.6f\n", out.Loss)
	fmt.Printf("d loss/d logp %.6f\n", out.DLogp)
	for _, m := range out.Metrics {
		fmt.Printf("%s %.6f\n", m.Name, m.Value)
	}
	// Output:
	// loss 1.185611
	// d loss/d logp [0.418124 0.256516 0.003172]
	// actor/pg_clipfrac 0.000000
	// actor/ppo_kl -0.166667
	// actor/pg_clipfrac_lower 0.333333
	// actor/kl_loss 0.055661
	// actor/kl_coef 0.100000
}

func ExampleEstimator_At() {
	d := 0.4 // logp - ref
	for _, e := range []Estimator{K1, K2, K3, K3Plus} {
		value, derivative := e.At(d, VerlBounds)
		fmt.Printf("%-3s %.4f %.4f\n", e, value, derivative)
	}
	// Output:
	// k1  0.4000 1.0000
	// k2  0.0800 0.4000
	// k3  0.0703 0.3297
	// k3+ 0.0703 0.4000
}
