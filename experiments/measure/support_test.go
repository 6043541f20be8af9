package measure

import (
	"context"
	"testing"

	"driftlab/engine"
	"driftlab/precision/must"
)

// TestSupportReplayInMeasure leaves a control without a gap.
func TestSupportReplayInMeasure(t *testing.T) {
	fp32, _ := engine.Preset("fp32")
	for _, replay := range []bool{true, false} {
		r := measured(t)
		r.Rollout.TopP, r.Support.Replay = 0.9, replay
		m := must.Get(Gaps(context.Background(), GapRequest{Recipe: r, Pairs: []Pair{{fp32, fp32}}}))(t)
		if g := m.Pairs[0].Gap; (g.MaxAbsDlogp == 0) != replay || (g.K1 > 0) == replay {
			t.Errorf("replay %t: %+v", replay, g)
		}
	}
}
