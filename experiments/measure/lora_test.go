package measure

import (
	"context"
	"testing"

	"driftlab/precision/must"
)

// A merge of adapters that the learner keeps separate is a mechanism of its own, and goes with
// one way in both engines.
func TestMergeIsAttributed(t *testing.T) {
	for _, rollout := range []string{"merged", "unmerged"} {
		r := measured(t)
		must.Do(t, r.Set("lora={rank: 4, alpha: 32}", "steps=4", "rollout.prompts=4", "rollout.numerics={base: bf16, adapters: "+rollout+"}",
			"learner.numerics={base: bf16, adapters: unmerged}"))
		a := must.Get(Attribute(context.Background(), AttributeRequest{Recipe: r}))(t)
		differs := rollout == "merged"
		if differs != (len(a.Mechanisms) == 1 && a.Mechanisms[0].Name == "adapters") || differs == (a.Total == (GapSize{})) {
			t.Errorf("%s: %+v, total %+v", rollout, a.Mechanisms, a.Total)
		}
	}
}
