package measure

import (
	"context"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// Between engines that differ in numerics and in tensors that a sync missed both are named,
// the zero-update test of the whole holds, and with a whole sync the numerics alone are left.
func TestPartialSyncIsAttributed(t *testing.T) {
	for _, rollout := range []string{"fp32", "bf16"} {
		for _, fields := range []string{"missed: [experts]", "missed: [all], workers: 0.5, old: initial", "missed: [all], from: 3", "missed: []"} {
			r, partial := measured(t), fields != "missed: []"
			must.Do(t, r.Set("rollout.weight_sync={"+fields+"}", "steps=4", "rollout.prompts=4"))
			a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: Pair{named(t, rollout), named(t, "fp32")}, ExactLimit: 2}))(t)
			i := slices.IndexFunc(a.Mechanisms, func(m MechanismPart) bool { return m.Name == syncName })
			if (i < 0) == partial {
				t.Errorf("%s, %s: %+v", rollout, fields, a.Mechanisms)
			}
			if i >= 0 && (a.Mechanisms[i].Alone.K3 < 0.2*a.Total.K3 || a.Mechanisms[i].Removed.K3 < 0.2*a.Total.K3) {
				t.Errorf("%s, %s: %+v of %+v", rollout, fields, a.Mechanisms[i], a.Total)
			}
			if rollout == "fp32" && (a.Total == (GapSize{})) == partial {
				t.Errorf("%s leaves %+v", fields, a.Total)
			}
		}
	}
}
