package measurements

import (
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
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

// clippedByGSPO is the share of responses whose geometric mean of learner over rollout is outside GSPO's clip, by
// length.
func clippedByGSPO(b *batch.Batch, lengths []float64) []float64 {
	gspo, out := method.New[loss.GSPO](), make([]float64, len(lengths))
	for k, sums := range logProducts(b, lengths) {
		for _, sum := range sums {
			if r := elementary.Exp(sum / lengths[k]); r < 1-gspo.EpsLow || r > 1+gspo.EpsHigh {
				out[k] += 1 / float64(b.Len())
			}
		}
	}
	return out
}
