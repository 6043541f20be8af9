package stats_test

import (
	"fmt"

	"driftlab/results/stats"
)

// Ten models with and without a change: by how much do they differ, could it be
// chance, and what would so few have missed?
func Example() {
	bf16 := []float64{4.1e-3, 3.9e-3, 4.4e-3, 4.0e-3, 4.2e-3, 3.1e-3, 5.0e-3, 4.6e-3, 3.8e-3, 4.1e-3}
	fp16 := []float64{5.2e-4, 5.0e-4, 5.1e-4, 5.6e-4, 4.9e-4, 4.4e-4, 6.1e-4, 5.7e-4, 4.9e-4, 5.3e-4}
	r := stats.TRatio(bf16, fp16)
	fmt.Printf("ratio %.1f, 95%% interval %.1f to %.1f\n", r.Estimate, r.Low, r.High)
	logs := stats.Logs(stats.Quotients(bf16, fp16))
	fmt.Printf("sign-flip p %.4f\n", stats.SignFlip(logs))
	fmt.Printf("found 8 times of 10: a change of %.0f %%\n", 100*stats.SmallestEffect(stats.Deviation(logs), len(logs)))
	// Output:
	// ratio 7.9, 95% interval 7.5 to 8.3
	// sign-flip p 0.0020
	// found 8 times of 10: a change of 7 %
}
