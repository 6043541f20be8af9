package trainer

import (
	"slices"
	"testing"
)

// TestPrefill trains with prompts in chunks and shared between responses: the
// same weights, unless the numerics depend on how many rows share a pass.
func TestPrefill(t *testing.T) {
	for _, tc := range []struct {
		numerics string
		same     bool
	}{{"bf16", true}, {"fp32-batch-variant", false}} {
		train := func(sets ...string) []float32 {
			sets = append(sets, "rollout.numerics="+tc.numerics, "rollout.slots=5", "model.layers=2", "steps=4",
				"correction.weights=token_tis") // log-probs of the rollout reach the weights
			return tinyRun(t, sets...).Params.Theta
		}
		want := train()
		for _, set := range []string{"rollout.prefill_chunk=2", "rollout.prefix_cache=true"} {
			if got := train(set); slices.Equal(want, got) != tc.same {
				t.Errorf("%s, %s: same weights %v, want %v", tc.numerics, set, !tc.same, tc.same)
			}
		}
	}
}
