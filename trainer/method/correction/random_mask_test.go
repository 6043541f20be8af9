package correction

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"driftlab/trainer/method/batch"
)

// flat is a batch of one long response.
func flat(n int) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0, n}}}
	for i := range n {
		b.Mask = append(b.Mask, i%3 != 1)
		b.Anchor, b.LogpRoll, b.Now.Logp = append(b.Anchor, -1), append(b.LogpRoll, -1), append(b.Now.Logp, -1)
	}
	return b
}

// drawnMask is the loss mask after the placebo.
func drawnMask(t *testing.T, b *batch.Batch, rate float64, seed uint64, step int) []bool {
	t.Helper()
	b.Step = step
	apply(t, &Pipeline{Seed: seed, Masks: []Masking{&RandomMask{Rate: rate}}}, b)
	return slices.Clone(b.LossMask)
}

// The placebo drops its share of the tokens, to within four standard errors; a
// run repeats the draw, another seed or step does not, and no ratio acts on it.
func TestRandomMask(t *testing.T) {
	const n = 60000
	b := flat(n)
	for _, rate := range []float64{0, 1e-3, 0.1, 0.5, 1} {
		mask := drawnMask(t, b, rate, 7, 3)
		all, dropped := 0.0, 0.0
		for i, kept := range mask {
			if b.Mask[i] {
				all++
				if !kept {
					dropped++
				}
			} else if kept {
				t.Fatalf("rate %v: token %d enters the loss", rate, i)
			}
		}
		if off := math.Abs(dropped/all - rate); off > 4*math.Sqrt(rate*(1-rate)/all) {
			t.Errorf("rate %v: %v dropped", rate, dropped/all)
		}
	}
	want := drawnMask(t, b, 0.1, 7, 3)
	if !slices.Equal(want, drawnMask(t, flat(n), 0.1, 7, 3)) {
		t.Error("the draw is not repeated")
	}
	far := flat(n)
	for i := range far.Anchor {
		far.Anchor[i] -= float64(i % 7)
	}
	if !slices.Equal(want, drawnMask(t, far, 0.1, 7, 3)) {
		t.Error("a ratio acts on the draw")
	}
	if slices.Equal(want, drawnMask(t, b, 0.1, 8, 3)) || slices.Equal(want, drawnMask(t, b, 0.1, 7, 4)) {
		t.Error("another seed or step draws the same tokens")
	}
}

// With a band the placebo drops as many tokens of every batch as the mask it is
// compared with, and other ones.
func TestRandomMaskOfABand(t *testing.T) {
	const n = 6000
	b := flat(n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range b.Anchor {
		b.Anchor[i] += 0.3 * rng.NormFloat64()
	}
	drop := func(m Masking) (dropped []int) {
		apply(t, &Pipeline{Seed: 7, Masks: []Masking{m}}, b)
		for i, kept := range b.LossMask {
			if b.Mask[i] && !kept {
				dropped = append(dropped, i)
			}
		}
		return dropped
	}
	band, placebo := drop(&TokenMask{Low: 0.5, High: 2}), drop(&RandomMask{Low: 0.5, High: 2})
	if len(band) < 50 || len(placebo) != len(band) {
		t.Fatalf("the band drops %d tokens, the placebo %d", len(band), len(placebo))
	}
	both := 0
	for _, i := range placebo {
		if slices.Contains(band, i) {
			both++
		}
	}
	if expected := float64(len(band)*len(band)) / (n * 2 / 3); float64(both) > expected+5*math.Sqrt(expected)+1 {
		t.Errorf("%d of %d are the band's own, expected %.1f", both, len(band), expected)
	}
}
