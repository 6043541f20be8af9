package measurements

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// gspoLow and gspoHigh are GSPO's clip.
const gspoLow, gspoHigh = 3e-4, 4e-4

// clippedByGSPO is the share of responses whose geometric mean of learner over rollout is outside GSPO's clip, by
// length.
func clippedByGSPO(b *batch.Batch, lengths []int) []float64 {
	out := make([]float64, len(lengths))
	ratios := logRatiosOf(b)
	for i := range b.Len() {
		from, _ := b.Span(i)
		for k, length := range lengths {
			sum := 0.0
			for _, x := range ratios[from : from+length] {
				sum += x
			}
			r := elementary.Exp(sum / float64(length))
			if r < 1-gspoLow || r > 1+gspoHigh {
				out[k] += 1 / float64(b.Len())
			}
		}
	}
	return out
}
