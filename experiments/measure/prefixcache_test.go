package measure

import (
	"context"
	"slices"
	"testing"

	"driftlab/precision/must"
)

// Between engines that differ in numerics and in the age of cached prompts both are named,
// the zero-update test of the whole holds, and without stale prefixes the numerics alone are left.
func TestStalePrefixesAreAttributed(t *testing.T) {
	for _, rollout := range []string{"fp32", "bf16", "fp32-batch-variant"} {
		for _, policy := range []string{"none", "flush"} {
			r := measured(t)
			must.Do(t, r.Set("rollout.shared_prefix_cache={policy: "+policy+", block_tokens: 3}", "steps=4", "rollout.prompts=4"))
			a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: Pair{named(t, rollout), named(t, "fp32")}, ExactLimit: 2}))(t)
			i := slices.IndexFunc(a.Mechanisms, func(m MechanismPart) bool { return m.Name == prefixesName })
			if (i < 0) != (policy == "flush") {
				t.Errorf("%s, %s: %+v", rollout, policy, a.Mechanisms)
			}
			if i >= 0 && (a.Mechanisms[i].Alone.K3 < 0.2*a.Total.K3 || a.Mechanisms[i].Removed.K3 < 0.2*a.Total.K3) {
				t.Errorf("%s: %+v of %+v", rollout, a.Mechanisms[i], a.Total)
			}
			if rollout == "fp32" && policy == "flush" && a.Total != (GapSize{}) {
				t.Errorf("a flushed cache leaves %+v", a.Total)
			}
		}
	}
}
