package precision

import "testing"

// The head comes second of three by the gap that its promotion leaves; what comes before
// all blocks is the gap without any.
func TestHeadRank(t *testing.T) {
	if got := headRank([]float64{9, .2, .1, .3}); got != 2 {
		t.Errorf("rank %v, want 2", got)
	}
	if got := headRank([]float64{0, .1, .1, .3}); got != 1 {
		t.Errorf("rank of equals %v, want 1", got)
	}
}
