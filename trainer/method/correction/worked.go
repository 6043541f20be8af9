package correction

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Worked is the batch of the worked examples: one response of three tokens, of which one
// has a ratio above a cap of 2.
func Worked() *batch.Batch {
	b := &batch.Batch{
		Sampled:   batch.Sampled{Offsets: []int{0, 3}, Mask: []bool{true, true, true}, LogpRoll: []float64{-0.6, -1.8, -2.2}, Turn: []int32{0, 0, 1}, Version: []int32{6, 7, 7}, Finished: []bool{false}, Vocab: 3},
		Now:       batch.Scored{Logp: []float64{-0.5, -1.2, -2.0}},
		Graded:    batch.Graded{Advantage: []float64{-1, -1, -1}},
		Corrected: batch.Corrected{Anchor: []float64{-0.7, -1.0, -2.5}},
	}
	for range b.Tokens() {
		for a, p := range []float64{.5, .3, .2} {
			b.DistRoll = append(b.DistRoll, float32(elementary.Log(p)))
			b.Now.Dist = append(b.Now.Dist, float32(elementary.Log([]float64{.4, .4, .2}[a])))
		}
	}
	return b
}
