package measurements

import (
	"strings"
	"testing"

	"driftlab/experiments/study/claims/claim"
)

// TestMatchedPenalty: of coefficients whose first lengths are 0.95, 0.9 and 0.5 of that without penalty the second is judged, and
// of equals the stronger one.
func TestMatchedPenalty(t *testing.T) {
	o := new(claim.Observation)
	for _, a := range []struct {
		arm    string
		length float64
	}{{"none", 20}, {"uniform 0.01", 19}, {"uniform 0.02", 18}, {"uniform 0.04", 10}, {"group 1", 17.5}, {"group 2", 17.5}} {
		o.Set(claim.AtLR(a.arm, "5e-4"), a.length, 12)
		o.Set(claim.AtLR(a.arm, "1e-3"), a.length, 14)
	}
	j := &claim.Judge{Seeds: []uint64{1}, Runs: []*claim.Observation{o}}
	if got := matchedPenaltyNote(j, []string{"uniform"}); !strings.Contains(got, "uniform 0.02: 0.90") {
		t.Errorf("note %q", got)
	}
	if arm, _ := matchedPenalty(j, "group"); arm != "group 2" {
		t.Errorf("of equals %s", arm)
	}
	if got := penaltyMatched(j, []string{"1e-3"}, []string{"uniform", "1"}); len(got) != 1 || got[0] != 14 {
		t.Errorf("entry %v, want 14", got)
	}
}
