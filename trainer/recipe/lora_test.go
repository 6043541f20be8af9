package recipe

import (
	"maps"
	"strings"
	"testing"

	"driftlab/model"
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

// Adapters go to every projection of attention, linear and sparse attention's too, and to no convolution or index.
func TestLoRATargets(t *testing.T) {
	m := model.Config{Layers: 3, LayerTypes: "linear_attention,sparse_attention,full_attention"}.WithDefaults()
	m.Vocab = 16
	adapted := map[string]int{}
	for _, tensor := range model.Layout(m) {
		if l := (&LoRA{Targets: []string{"attention"}}); l.Adapts(tensor.Name) && len(tensor.Shape) == 2 {
			adapted[strings.Split(tensor.Name, ".")[2]]++
			if tensor.Index() || !strings.HasSuffix(tensor.Name, "_proj.weight") {
				t.Errorf("%s has an adapter", tensor.Name)
			}
		}
	}
	if want := map[string]int{"0": 5, "1": 4, "2": 4}; !maps.Equal(adapted, want) {
		t.Errorf("adapters by layer: %v, want %v", adapted, want)
	}
}

// Gradients that saturate never say that the scale of the loss is too large.
func TestLossScaleNeedsOverflow(t *testing.T) {
	for gradients, fine := range map[string]bool{"fp16": true, "fp16:sat": false} {
		_, err := Load("default", "learner.numerics={base: bf16, gradients: \""+gradients+"\"}", "learner.loss_scale.mode=dynamic")
		if (err == nil) != fine {
			t.Errorf("%s: %v", gradients, err)
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
