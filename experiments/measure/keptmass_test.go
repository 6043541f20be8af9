package measure

import (
	"context"
	"math"
	"testing"

	"driftlab/precision/must"
)

// TestKeptMassIdentity runs the self-test on what the engines record: it holds for
// every way of shaping what is sampled, with equal engines and unequal ones, and
// fails for raw log-probs.
func TestKeptMassIdentity(t *testing.T) {
	for _, tc := range []struct {
		sets     []string
		holds    bool
		expected func(kept float64) float64
	}{
		{[]string{"rollout.top_p=0.8"}, true, func(kept float64) float64 { return kept }},
		{[]string{"rollout.top_k=2", "rollout.temperature=1.3"}, true, func(kept float64) float64 { return kept }},
		{[]string{"rollout.top_p=0.8", "support.replay=true"}, true, func(float64) float64 { return 1 }},
		{[]string{"rollout.top_p=0.8", "rollout.numerics=fp4-all"}, true, nil},
		{[]string{"rollout.temperature=0.8", "learner.temperature=1"}, true, func(float64) float64 { return 1 }},
		{[]string{"rollout.top_p=0.8", "rollout.log_probs=raw"}, false, nil},
	} {
		r := measured(t)
		must.Do(t, r.Set(tc.sets...))
		m := must.Get(Gaps(context.Background(), GapRequest{Recipe: r}))(t)
		k := m.Pairs[0].KeptMass
		if k == nil || k.Holds != tc.holds || k.Kept > 1 || k.Kept <= 0 {
			t.Errorf("%q: %+v", tc.sets, k)
			continue
		}
		if tc.expected != nil && math.Abs(k.Expected-tc.expected(k.Kept)) > 1e-5 {
			t.Errorf("%q: the ratio is due to average to %g, and the identity says %g", tc.sets, tc.expected(k.Kept), k.Expected)
		}
	}
	// The trap: log-probs that are not renormalised show no gap at all.
	r := measured(t)
	must.Do(t, r.Set("rollout.top_p=0.8", "rollout.log_probs=tempered"))
	trap := must.Get(Gaps(context.Background(), GapRequest{Recipe: r}))(t)
	if p := trap.Pairs[0]; p.Gap.Unequal != 0 || p.KeptMass.Holds {
		t.Errorf("log-probs before renormalisation: %g unequal, %+v", p.Gap.Unequal, p.KeptMass)
	}
	m, err := Gaps(context.Background(), GapRequest{Recipe: measured(t)})
	if err != nil || m.Pairs[0].KeptMass != nil {
		t.Errorf("a self-test where nothing shapes the law: %v, %+v", err, m.Pairs[0].KeptMass)
	}
}
