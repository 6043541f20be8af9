package moe

import (
	"fmt"
	"math"
)

// Balance is the load-balancing loss of the Switch Transformer
// (arXiv:2101.03961, equation 4), for top-k routing:
//
//	L = E Σ_e f_e P_e
//	f_e = assignments to expert e / (rows · topK)
//	P_e = mean over rows of softmax(logits)_e, over all experts
//
// It is 1 when the load is even, whatever the top-k, and at most E. (Hugging
// Face's Mixtral does not divide f by topK: its value is topK times this one.)
// Minimising it pushes the mean probability away from the crowded experts; f
// is a constant to the gradient.
//
// The zero value is ready; it holds scratch that is reused.
type Balance struct {
	load, probs []float64
}

// AddGrad adds scale · dL/dlogits to dlogits, [rows, experts], for logits of that shape and
// the ids that were chosen, [rows, topK]:
//
//	dL/ds_te = (E/rows) p_te (f_e - Σ_j f_j p_tj)
func (b *Balance) AddGrad(dlogits []float32, scale float64, logits []float32, ids []uint8, rows, topK, experts int) {
	if len(dlogits) != len(logits) {
		panic(fmt.Sprintf("moe: Balance gradient of %d logits into %d", len(logits), len(dlogits)))
	}
	if rows == 0 {
		return
	}
	b.count(logits, ids, rows, topK, experts)
	c := scale * float64(experts) / float64(rows)
	for r := range rows {
		softmax(b.probs, logits[r*experts:(r+1)*experts])
		var dot float64
		for e, p := range b.probs {
			dot += float64(b.load[e] * p)
		}
		ds := dlogits[r*experts : (r+1)*experts]
		for e, p := range b.probs {
			ds[e] += float32(float64(c*p) * (b.load[e] - dot))
		}
	}
}

// count checks the shapes and fills load with f.
func (b *Balance) count(logits []float32, ids []uint8, rows, topK, experts int) {
	if len(logits) != rows*experts || len(ids) != rows*topK || topK < 1 || experts < 1 {
		panic(fmt.Sprintf("moe: Balance of %d rows: logits %d, want [%d, %d]; ids %d, want [%d, %d]",
			rows, len(logits), rows, experts, len(ids), rows, topK))
	}
	if cap(b.load) < experts {
		b.load, b.probs = make([]float64, experts), make([]float64, experts)
	}
	b.load, b.probs = b.load[:experts], b.probs[:experts]
	clear(b.load)
	for _, id := range ids {
		b.load[id]++
	}
	for e := range b.load {
		b.load[e] /= float64(rows * topK)
	}
}

// softmax writes the probabilities of logits, summed in their order. The largest is subtracted
// first, NaN left out.
func softmax(probs []float64, logits []float32) {
	top, sum := math.Inf(-1), 0.0
	for _, s := range logits {
		if x := float64(s); x > top {
			top = x
		}
	}
	for e, s := range logits {
		probs[e] = exp(float64(s) - top)
		sum += probs[e]
	}
	for e := range probs {
		probs[e] /= sum
	}
}
