package correction

import (
	"slices"
	"testing"

	"driftlab/experiments/claims/claim"
)

// Blocks are means of as many updates each, and what is left over belongs to none.
func TestBlocks(t *testing.T) {
	x := []float64{1, 3, 5, 7, 100}
	if got := claim.Blocks(x, 2); !slices.Equal(got, []float64{2, 6}) {
		t.Errorf("blocks %v, want 2 and 6", got)
	}
	if got := secondHalf(x); !slices.Equal(got, []float64{5, 7, 100}) {
		t.Errorf("the latter half is %v", got)
	}
}
