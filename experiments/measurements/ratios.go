package measurements

import (
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// logRatiosOf returns the token log-ratios, learner minus rollout.
func logRatiosOf(b *batch.Batch) []float64 { return stats.Differences(b.Old.Logp, b.LogpRoll) }

// prefixLengths are the powers of two up to the length, from 32 (or the length
// over eight, if that is less).
func prefixLengths(length int) []float64 {
	var out []float64
	for t := min(32, length/8); t <= length; t *= 2 {
		out = append(out, float64(t))
	}
	return out
}

// logProducts returns, for every length and response, the log of the product
// of the token ratios over the first tokens of that number.
func logProducts(b *batch.Batch, lengths []float64) [][]float64 {
	e := logRatiosOf(b)
	out := make([][]float64, len(lengths))
	for i := range b.Len() {
		from, _ := b.Span(i)
		sum, at := 0.0, 0
		for k, n := range lengths {
			for ; at < int(n); at++ {
				sum += e[from+at]
			}
			out[k] = append(out[k], sum)
		}
	}
	return out
}
