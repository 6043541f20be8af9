package measure

import (
	"context"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// Each shipped recipe has a gap whose only mechanism is the one given, of a type of attention; either
// of its arms takes the gap away to the last bit.
func TestTypesOfAttentionAreAttributed(t *testing.T) {
	for _, c := range []struct {
		recipe, mechanism string
		fixes             []string
	}{
		{"linear-attention", engine.LinearAttentionField, []string{"rollout.numerics.linear_attention=chunked:16", "learner.numerics.linear_attention=recurrent:bf16"}},
		{"sparse-attention", engine.IndexField, []string{"retention={replay: true}", "rollout.numerics.index=bf16"}},
	} {
		attribute := func(fixes ...string) *Attribution {
			r := must.Get(recipe.Load(c.recipe, append([]string{"rollout.prompts=4", "rollout.group=2", "rollout.max_tokens=40"}, fixes...)...))(t)
			return must.Get(Attribute(context.Background(), AttributeRequest{Recipe: r, Pair: Pair{r.Rollout.Numerics, r.Learner.Numerics}, ExactLimit: 2}))(t)
		}
		a := attribute()
		if i := slices.IndexFunc(a.Mechanisms, func(m MechanismPart) bool { return m.Name == c.mechanism }); i < 0 || len(a.Mechanisms) != 1 || !(a.Total.K3 > 0) {
			t.Errorf("%s: total %+v of %+v", c.recipe, a.Total, a.Mechanisms)
		}
		for _, fix := range c.fixes {
			if a := attribute(fix); len(a.Mechanisms) != 0 || a.Total != (GapSize{}) {
				t.Errorf("%s: %s leaves %+v: %+v", c.recipe, fix, a.Total, a.Mechanisms)
			}
		}
	}
}
