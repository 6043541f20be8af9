package metrics

import "driftlab/trainer/method/batch"

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
