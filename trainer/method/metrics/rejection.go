package metrics

import (
	"math/bits"

	"driftlab/trainer/method/batch"
)

// Rejection counts what the correction, the loss and its terms keep out of the
// gradient: tokens out of the loss mask, with a closed gate, of weight 0, or that the
// loss rejects by a mask of its own.
// Which those are can change from gradient step to gradient step, so every one
// adds its minibatch; a token that takes part in several counts each time.
type Rejection struct{ tokens, out, rows, gone int }

// Add counts a batch as its gradient saw it, with the tokens that the loss rejected, nil
// for none.
func (r *Rejection) Add(b *batch.Batch, byLoss []bool) {
	for i := range b.Len() {
		count, lost := 0, 0
		for n := range b.Where(i, b.Mask) {
			count++
			if b.LossMask != nil && !b.LossMask[n] || b.Gate != nil && !b.Gate[n] || b.Weight != nil && b.Weight[n] == 0 || byLoss != nil && byLoss[n] {
				lost++
			}
		}
		r.tokens, r.out = r.tokens+count, r.out+lost
		if count > 0 {
			r.rows++
			if lost == count {
				r.gone++
			}
		}
	}
}

// Metrics appends the shares of tokens, and of responses that lost all of theirs.
func (r *Rejection) Metrics(dst []batch.Metric) []batch.Metric {
	return append(dst,
		batch.Metric{Name: "correction/masked_fraction", Value: float64(r.out) / float64(max(r.tokens, 1))},
		batch.Metric{Name: "correction/seq_masked_fraction", Value: float64(r.gone) / float64(max(r.rows, 1))})
}

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
