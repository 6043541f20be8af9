package correction

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// Statistic difference aggregates d = exp(old) - exp(roll) of tokens, as ROLL
// does, not the log-probs: a loop over units written from that sentence agrees,
// at every level, with every aggregate, in both modes.
func TestBandDifferenceRecomputed(t *testing.T) {
	rng, told := rand.New(rand.NewPCG(1, 2)), 0
	for seed := range uint64(200) {
		b := random(seed, 1)
		for _, level := range []string{"token", "segment", "sequence"} {
			for _, how := range []string{"mean", "sum", "max"} {
				for _, mode := range []Mode{Decoupled, Bypass} {
					m := &Band{Level: level, Statistic: "difference", Aggregate: how, Low: -rng.Float64() / 2, High: rng.Float64() / 2}
					one := *b
					one.Now.Logp, one.Anchor = b.Anchor, slices.Clone(b.Anchor) // bypass overwrites it
					p := &Pipeline{Mode: mode, Masks: []Masking{m}}
					apply(t, p, &one)
					units := unitsOf(b, level)
					for n, counts := range b.Mask {
						if !counts {
							continue
						}
						sum, count, largest, logOld, logRoll := 0.0, 0.0, math.Inf(-1), 0.0, 0.0
						for j := range b.Mask {
							if units[j] == units[n] && b.Mask[j] {
								d := math.Exp(b.Anchor[j]) - math.Exp(b.LogpRoll[j])
								sum, count, largest = sum+d, count+1, max(largest, d)
								logOld, logRoll = logOld+b.Anchor[j], logRoll+b.LogpRoll[j]
							}
						}
						x := map[string]float64{"mean": sum / count, "sum": sum, "max": largest}[how]
						keep := x >= m.Low && x <= m.High
						if one.LossMask[n] != keep {
							t.Fatalf("%+v %s: token %d of unit with d %v is kept: %v", m, mode, n, x, one.LossMask[n])
						}
						y := math.Exp(logOld/count) - math.Exp(logRoll/count)
						if how == "mean" && keep != (y >= m.Low && y <= m.High) {
							told++
						}
					}
				}
			}
		}
	}
	if told == 0 {
		t.Error("no case tells the mean of differences from the difference of means")
	}
}

// unitsOf numbers the tokens' units.
func unitsOf(b *batch.Batch, level string) []int {
	units := make([]int, b.Tokens())
	for i := range b.Len() {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			if n > 0 {
				units[n] = units[n-1]
			}
			if n == from || level == "token" || level == "segment" && b.Mask[n] != b.Mask[n-1] {
				units[n]++
			}
		}
	}
	return units
}

// KPop's gate keeps every token of a response that both engines score alike, at any level and at the least threshold.
func TestBinaryKLOfEqualEnginesMasksNothing(t *testing.T) {
	b := random(7, 0)
	for _, level := range []string{"token", "sequence"} {
		one := *b
		p := &Pipeline{Masks: []Masking{&Band{Level: level, Statistic: "binary_kl", Aggregate: "max", Floor: 1e-8, Low: math.Inf(-1)}}}
		must(t, p.Apply(&one, AtBatch))
		if one.LossMask != nil && !slices.Equal(one.LossMask, one.Mask) {
			t.Errorf("%s: a token is masked", level)
		}
		one.Anchor = slices.Clone(b.Anchor)
		one.Anchor[0] -= 0.5
		must(t, p.Apply(&one, AtBatch))
		if one.LossMask[0] {
			t.Errorf("%s: a token that the engines score differently is kept at a threshold of 0", level)
		}
	}
}
