package stats_test

import (
	"fmt"

	"driftlab/experiments/stats"
)

// Five paired seeds of two arms: is the first one larger, and by how much?
func Example() {
	bf16 := []float64{4.1e-3, 3.9e-3, 4.4e-3, 4.0e-3, 4.2e-3}
	fp16 := []float64{5.2e-4, 5.0e-4, 5.1e-4, 5.6e-4, 4.9e-4}
	r := stats.Ratio(bf16, fp16)
	fmt.Printf("ratio %.1f, 95%% interval %.1f to %.1f\n", r.Estimate, r.Low, r.High)
	// Output:
	// ratio 8.0, 95% interval 7.5 to 8.5
}
