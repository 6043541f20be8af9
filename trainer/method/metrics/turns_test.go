package metrics

import (
	"math"
	"testing"

	"driftlab/trainer/method/batch"
)

// TestCompareTurns, worked by hand: two responses, of three turns and of one; what
// the environment wrote has no number to read.
func TestCompareTurns(t *testing.T) {
	nan := math.NaN()
	b := &batch.Batch{
		Sampled: batch.Sampled{Offsets: []int{0, 7, 9}, Mask: []bool{true, true, false, true, false, false, true, true, true}, Turn: []int32{0, 0, 0, 1, 1, 1, 2, 0, 0}, LogpRoll: []float64{-1, -2, nan, -0.5, nan, nan, -3, -1, -1}},
		Old:     batch.Scored{Logp: []float64{-1.5, -2, nan, -0.25, nan, nan, -2, -1, -1.25}},
	}
	got := CompareTurns(b)
	want := []TurnGap{
		{0, 4, 2, -1.25, (k3(-0.5) + k3(-0.25)) / 4, 0.1875, 0.5, 0.25},
		{1, 1, 1, -0.5, k3(0.25), 0.25, 0.25, 0.25},
		{2, 1, 1, -3, k3(1), 1, 1, 1},
	}
	if len(got) != len(want) {
		t.Fatalf("%d turns, want %d", len(got), len(want))
	}
	for k := range want {
		if g, w := got[k], want[k]; math.Abs(g.K3-w.K3) > 1e-15 || g.Turn != w.Turn || g.Tokens != w.Tokens || g.Sequences != w.Sequences ||
			g.MeanLogp != w.MeanLogp || g.MeanAbsDlogp != w.MeanAbsDlogp || g.MaxAbsDlogp != w.MaxAbsDlogp || g.FirstAbsDlogp != w.FirstAbsDlogp {
			t.Errorf("turn %d: %+v, want %+v", k, g, w)
		}
	}
	for n := range b.Turn {
		b.Turn[n] = 0
	}
	if got := CompareTurns(b); got != nil {
		t.Errorf("a single turn gives %+v", got)
	}
}
