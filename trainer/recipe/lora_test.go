package recipe

import (
	"strings"
	"testing"
)

// Adapters go to projections that there are, with a rank that fits; what cannot act says so.
func TestLoRAFields(t *testing.T) {
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{"lora={rank: 4}"}, ""},
		{[]string{`lora={targets: ["*.q_proj.*", experts]}`}, ""},
		{[]string{"lora={targets: [router]}"}, "lora.targets: \"router\" is for model.layers.0.block_sparse_moe.gate.weight, and adapters go to the projections"},
		{[]string{"lora={targets: [head]}"}, "lm_head.weight"},
		{[]string{"lora={targets: [gate_up]}"}, "\"gate_up\" is no tensor of the model"},
		{[]string{"lora={rank: 64}"}, "lora.rank: 64 is more than 32"},
		{[]string{"lora={rank: 0}"}, "lora.rank"},
		{[]string{"rollout.numerics={base: bf16, adapters: split}", "lora={}"}, `adapters "split": use merged, unmerged, or unmerged:FORMAT`},
		{[]string{"rollout.numerics={base: bf16, adapters: \"unmerged:int8\"}", "lora={}"}, "int8 has no scale here"},
	} {
		r, err := Load("default", append(c.sets, "checkpoint=", "model={layers: 2}")...)
		if err == nil {
			err = r.Validate()
		}
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.sets, err)
		}
	}
	for want, sets := range map[string][]string{
		"rollout.numerics.adapters unmerged: the recipe has no adapters": {"rollout.numerics={base: fp32, adapters: unmerged}"},
		"routing.router frozen: lora freezes all weights":                {"routing.router=frozen", "lora={}"},
	} {
		r, err := Load("default", sets...)
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(r.Inert(), "\n"); !strings.Contains(notes, want) {
			t.Errorf("%v: %q", sets, notes)
		}
	}
}

// Adapters do not count as a difference between engines of a recipe without any, and do of
// one with.
func TestLoRAIsADifference(t *testing.T) {
	for _, sets := range [][]string{nil, {"lora={}"}} {
		r := loaded(t, "default", append(sets, "rollout.numerics={base: fp32, adapters: unmerged}")...)
		if r.sameEngine() == (len(sets) > 0) {
			t.Errorf("%v: the same engine: %t", sets, r.sameEngine())
		}
	}
}
