package trainer

import (
	"math"
	"testing"

	"driftlab/results/stats/passk"
)

// TestLengthBins sorts lengths into eighths of the limit and leaves out pass rates of
// lengths that do not occur.
func TestLengthBins(t *testing.T) {
	for tokens, want := range map[int]int{0: 0, 1: 0, 12: 0, 13: 1, 84: 6, 85: 7, 96: 7, 200: 7} {
		if got := lengthBin(tokens, 96); got != want {
			t.Errorf("%d tokens of 96: part %d, want %d", tokens, got, want)
		}
	}
	e := Evaluation{Lengths: [lengthBins]passk.Tally{{Correct: 1, Samples: 4}, {}, {Correct: 6, Samples: 6}}}
	got := map[string]float64{}
	for _, m := range e.byLength(nil, 96) {
		got[m.Name] = m.Value
	}
	if len(got) != lengthBins+2 || got["val/learner/pass_rate_of_length/12"] != 0.25 || got["val/learner/pass_rate_of_length/36"] != 1 ||
		got["val/learner/share_of_length/36"] != 0.6 || got["val/learner/share_of_length/96"] != 0 {
		t.Errorf("%v", got)
	}
	s := sessionOf(t, Options{}, "eval={every: 1, prompts: 3, samples: 4}")
	s.evaluate()
	share, n := 0.0, 0
	for _, m := range s.metrics {
		if len(m.Name) > 28 && m.Name[:28] == "val/learner/share_of_length/" {
			share, n = share+m.Value, n+1
		}
	}
	if n != lengthBins || math.Abs(share-1) > 1e-12 {
		t.Errorf("%d shares that add up to %v", n, share)
	}
}
