package measurements

import (
	"math"
	"math/rand/v2"
	"testing"

	"driftlab/results/stats/passk"
)

// Hands are dealt without replacement: none is lost, each is as good as any other, and
// their variance is the variance of the hypergeometric distribution.
func TestPartition(t *testing.T) {
	const fewSamples, samples, correct, deals = 32, 8 * 32, 64, 4000
	rng := rand.New(rand.NewPCG(1, 2))
	var sum, square [8]float64
	for range deals {
		total := 0
		for i, c := range partition(rng, correct, samples, fewSamples) {
			total += c
			sum[i] += float64(c)
			square[i] += float64(c * c)
		}
		if total != correct {
			t.Fatalf("%d correct samples were dealt of %d", total, correct)
		}
	}
	share := float64(correct) / samples
	variance := fewSamples * share * (1 - share) * (samples - fewSamples) / (samples - 1)
	for i := range sum {
		mean := sum[i] / deals
		if off := math.Abs(mean-fewSamples*share) / math.Sqrt(variance/deals); off > 4 {
			t.Errorf("hand %d has %v on average, want %v", i, mean, fewSamples*share)
		}
		if got := square[i]/deals - mean*mean; math.Abs(got/variance-1) > .15 {
			t.Errorf("hand %d has a variance of %v, want %v", i, got, variance)
		}
	}
}

// From 1 of 4 and 4 of 4: 1 - (3/4)² and 1.
func TestExtrapolated(t *testing.T) {
	if got := extrapolated([]passk.Tally{{Correct: 1, Samples: 4}, {Correct: 4, Samples: 4}}, 2); math.Abs(got-(7./16+1)/2) > 1e-15 {
		t.Errorf("extrapolated %v, want %v", got, (7./16+1)/2)
	}
}
