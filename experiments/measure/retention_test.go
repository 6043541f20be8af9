package measure

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/precision/must"
)

// TestRetentionInMeasure shows what is kept and what a replay leaves, whether
// the recipe replays or not.
func TestRetentionInMeasure(t *testing.T) {
	fp32, _ := engine.Preset("fp32")
	for _, replay := range []bool{true, false} {
		r := measured(t)
		must.Do(t, r.Set("rollout.kv_retention={policy: heavy_hitter, keep: 0.5, sinks: 1, recent: 1}", fmt.Sprintf("retention.replay=%t", replay)))
		m := must.Get(Gaps(context.Background(), GapRequest{Recipe: r, Pairs: []Pair{{fp32, fp32}}}))(t)
		p := m.Pairs[0]
		if p.Shadow == nil || p.Shadow.Unequal != 0 || p.Shadow.MaxTV != 0 || p.Retained < 0.5 || p.Retained > 0.6 {
			t.Errorf("replay %t: %g kept, shadow %+v", replay, p.Retained, p.Shadow)
		}
		if (p.Gap.Unequal == 0) != replay || !replay && p.Gap.K3 < 0.1 {
			t.Errorf("replay %t: %+v", replay, p.Gap)
		}
	}
}

// TestRetentionIsAttributed: between engines that differ in numerics and in what
// the cache keeps, both are named, the zero-update test holds, and with the
// masks replayed the numerics alone are left.
func TestRetentionIsAttributed(t *testing.T) {
	for _, rollout := range []string{"bf16", "bf16-batch-variant"} {
		for _, replay := range []bool{false, true} {
			r := measured(t)
			must.Do(t, r.Set("rollout.kv_retention={policy: heavy_hitter, keep: 0.5, sinks: 1, recent: 1}", fmt.Sprintf("retention.replay=%t", replay)))
			a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: Pair{named(t, rollout), named(t, "bf16-fp32-head")}}))(t)
			i := slices.IndexFunc(a.Mechanisms, func(m MechanismPart) bool { return m.Name == retentionName })
			if (i < 0) != replay {
				t.Errorf("%s, replay %t: %+v", rollout, replay, a.Mechanisms)
			}
			if !replay && (a.Mechanisms[i].Alone.K3 < 0.5*a.Total.K3 || a.Mechanisms[i].Removed.K3 <= 0) {
				t.Errorf("%s: %+v of %+v", rollout, a.Mechanisms[i], a.Total)
			}
		}
	}
}
