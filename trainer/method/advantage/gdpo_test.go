package advantage

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/trainer/method/batch"
)

// Parts of NaN, at random: every part is normalised over the group's other
// numbers, a response without any gets 0 and does not count in the batch's mean
// and deviation (TRL's normalize_then_sum; over tokens, verl's whitening of
// what is left). Against loops written from that sentence.
func TestGDPOUnscoredRecomputed(t *testing.T) {
	rng, nan := rand.New(rand.NewPCG(5, 6)), math.NaN()
	left := 0
	for trial := range 300 {
		groups, size, kinds := 1+rng.IntN(3), 2+rng.IntN(4), 1+rng.IntN(3)
		b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
		for i := range groups * size {
			parts := make([]float64, kinds)
			for k := range parts {
				if parts[k] = rng.NormFloat64(); rng.IntN(3) == 0 {
					parts[k] = nan
				}
			}
			b.RewardParts = append(b.RewardParts, parts)
			b.Group = append(b.Group, i/size)
			for range 1 + rng.IntN(3) {
				b.Mask = append(b.Mask, rng.IntN(4) > 0)
			}
			b.Offsets = append(b.Offsets, len(b.Mask))
		}
		how := []string{"sequence", "token", "none"}[trial%3]
		must(t, (&GDPO{Asymmetry: symmetric, Std: true, Eps: 1e-4, Whiten: how}).Estimate(b))
		score := make([]float64, b.Len())
		for g := range groups {
			for k := range kinds {
				var x []float64
				for i := g * size; i < (g+1)*size; i++ {
					if r := b.RewardParts[i][k]; !math.IsNaN(r) {
						x = append(x, r)
					}
				}
				m, s := moments(x)
				for i := g * size; i < (g+1)*size; i++ {
					if r := b.RewardParts[i][k]; !math.IsNaN(r) {
						score[i] += (r - m) / (s + 1e-4)
					}
				}
			}
		}
		var counted []float64
		for i := range score {
			scored := false
			for _, r := range b.RewardParts[i] {
				scored = scored || !math.IsNaN(r)
			}
			if !scored {
				left++
				score[i] = nan
				continue
			}
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				if how == "token" && b.Mask[n] {
					counted = append(counted, score[i])
				}
			}
			if how == "sequence" {
				counted = append(counted, score[i])
			}
		}
		m, s := moments(counted)
		for i, x := range score {
			switch {
			case math.IsNaN(x):
				x = 0
			case how == "sequence":
				x = (x - m) / (s + 1e-4)
			case how == "token" && s > 0:
				x = (x - m) / math.Sqrt(s*s+1e-8)
			case how == "token":
				x = 0
			}
			from, to := b.Span(i)
			for n := from; n < to; n++ {
				if b.Mask[n] && !(math.Abs(b.Advantage[n]-x) <= 1e-6) {
					t.Fatalf("trial %d, whiten %s: response %d with parts %v has advantage %v, want %v", trial, how, i, b.RewardParts[i], b.Advantage[n], x)
				}
			}
		}
	}
	if left == 0 {
		t.Error("no response is unscored")
	}
}

// moments are mean and unbiased standard deviation, 0 where there is none.
func moments(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += (v - mean) * (v - mean)
	}
	if len(x) < 2 {
		return mean, 0
	}
	return mean, math.Sqrt(std / float64(len(x)-1))
}
