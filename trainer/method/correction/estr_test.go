package correction

import (
	"math"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// TestESTRByHand: mu is a fair coin and then nearly certain; d² is 0.04·(log 2 + 0.01) = 0.02813 at most, and then 0.0004.
func TestESTRByHand(t *testing.T) {
	sure, never := float32(0), float32(math.Inf(-1))
	half := float32(math.Log(0.5))
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 4}, Vocab: 2, Mask: []bool{true, true, true, true},
		LogpRoll: make([]float64, 4), DistRoll: []float32{half, half, half, half, sure, never, sure, never}}}
	b.Now.Logp, b.Anchor = []float64{-0.167, 0.168, -0.0199, 0.0201}, make([]float64, 4)
	apply(t, &Pipeline{Masks: []Masking{&ESTR{Tau: 0.04, Epsilon: 0.01}}}, b)
	if want := []bool{true, false, true, false}; !slices.Equal(b.Gate, want) || slices.Contains(b.LossMask, false) {
		t.Errorf("gates %v, want %v; loss mask %v", b.Gate, want, b.LossMask)
	}
}

// TestLastVersionByHand: the last token that the policy generated says which version is the last.
func TestLastVersionByHand(t *testing.T) {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, 4, 6}, Mask: []bool{true, true, true, false, true, true},
		Version: []int32{3, 4, 4, 5, 4, 4}, LogpRoll: make([]float64, 6)}}
	b.Now.Logp, b.Anchor = make([]float64, 6), make([]float64, 6)
	apply(t, &Pipeline{Masks: []Masking{&LastVersion{}}}, b)
	if want := []bool{false, true, true, false, true, true}; !slices.Equal(b.LossMask, want) {
		t.Errorf("loss mask %v, want %v", b.LossMask, want)
	}
}
