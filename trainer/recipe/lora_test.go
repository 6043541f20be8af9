package recipe

import (
	"strings"
	"testing"
)

// Adapters that cannot act say so.
func TestInertLoRA(t *testing.T) {
	for want, sets := range map[string][]string{
		"rollout.numerics.adapters unmerged: the recipe has no adapters": {"rollout.numerics={base: fp32, adapters: unmerged}"},
		"routing.router frozen: lora freezes all weights":                {"routing.router=frozen", "lora={}"},
	} {
		if notes := strings.Join(loaded(t, "default", sets...).Inert(), "\n"); !strings.Contains(notes, want) {
			t.Errorf("%v: %q", sets, notes)
		}
	}
}

// Adapters do not count as a difference between engines of a recipe without any, and do of
// one with.
func TestLoRAIsADifference(t *testing.T) {
	for _, sets := range [][]string{nil, {"lora={}"}} {
		r := loaded(t, "default", append(sets, "rollout.numerics={base: fp32, adapters: unmerged}")...)
		if r.SameEngine() == (len(sets) > 0) {
			t.Errorf("%v: the same engine: %t", sets, r.SameEngine())
		}
	}
}
