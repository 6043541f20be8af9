package measure

import (
	"context"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/trainer/recipe"
)

// The shipped recipe has a gap whose only mechanism is the index of sparse attention; either of
// its arms takes the gap away to the last bit.
func TestSparseAttentionIsAttributed(t *testing.T) {
	for _, fix := range []string{"", "retention={replay: true}", "rollout.numerics.index=bf16"} {
		sets := []string{"rollout.prompts=4", "rollout.group=2", "rollout.max_tokens=40"}
		if fix != "" {
			sets = append(sets, fix)
		}
		r, err := recipe.Load("sparse-attention", sets...)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: Pair{r.Rollout.Numerics, r.Learner.Numerics}, ExactLimit: 2})
		if err != nil {
			t.Fatal(err)
		}
		if fix != "" {
			if len(a.Mechanisms) != 0 || a.Total != (GapSize{}) {
				t.Errorf("%s leaves %+v: %+v", fix, a.Total, a.Mechanisms)
			}
			continue
		}
		if i := slices.IndexFunc(a.Mechanisms, func(m MechanismPart) bool { return m.Name == engine.IndexField }); i < 0 || len(a.Mechanisms) != 1 || !(a.Total.K3 > 0) {
			t.Errorf("total %+v of %+v", a.Total, a.Mechanisms)
		}
	}
}
