package metrics

import (
	"math/bits"

	"driftlab/trainer/method/batch"
)

// Retained is the share of the positions up to their own that generated tokens
// still saw in the rollout engine's compressed cache, a mean over tokens and
// planes; 1 where nothing was compressed.
func Retained(b *batch.Batch) float64 {
	per := b.KVPlanes * b.KVWords
	var sum float64
	tokens := 0
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to && per > 0; n++ {
			if !b.Mask[n] {
				continue
			}
			held := 0
			for _, w := range b.KVKept[n*per : (n+1)*per] {
				held += bits.OnesCount64(w)
			}
			sum += float64(held) / float64(b.KVPlanes*(len(b.Prompt[i])+n-from))
			tokens++
		}
	}
	if tokens == 0 {
		return 1
	}
	return sum / float64(tokens)
}
