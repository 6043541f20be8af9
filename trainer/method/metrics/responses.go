package metrics

import "driftlab/trainer/method/batch"

// ResponseGap is what one response adds to the k3 of a batch: few tokens carry
// most of it, so a mean over tokens is as certain as its responses make it.
type ResponseGap struct {
	// Tokens is how many were compared.
	Tokens int
	// K3 is the sum of exp(e) − 1 − e over them, Largest that of one token.
	K3, Largest float64
}

// CompareResponses measures the gap of LogpOld to LogpRoll, response by response.
func CompareResponses(b *batch.Batch) []ResponseGap {
	out := make([]ResponseGap, b.Len())
	for i := range out {
		for n := range b.Where(i, b.Mask) {
			x := k3(b.Old.Logp[n] - b.LogpRoll[n])
			out[i] = ResponseGap{out[i].Tokens + 1, out[i].K3 + x, max(out[i].Largest, x)}
		}
	}
	return out
}
