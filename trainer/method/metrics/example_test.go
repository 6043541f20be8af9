package metrics_test

import (
	"fmt"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// Two tokens: the engines agree on the first, the learner is surer of the second.
func ExampleCompare() {
	g := metrics.Compare(&batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 2}, Mask: []bool{true, true}, LogpRoll: []float64{-0.5, -1.0}},
		Old:     batch.Scored{Logp: []float64{-0.5, -0.9}},
	})
	fmt.Printf("k1 %.4f, k3 %.6f, max |Δ log p| %.2f, tokens that differ %.1f\n", g.K1, g.K3, g.MaxAbsDlogp, g.Unequal)
	// Output: k1 -0.0500, k3 0.002585, max |Δ log p| 0.10, tokens that differ 0.5
}

func ExampleLookup() {
	t, _ := metrics.Lookup("rollout_corr/k3_kl")
	fmt.Println(t.Title, "=", t.Formula, t.Unit)
	// Output: KL k3, rollout to learner = mean(exp(e) − 1 − e) nats
}
