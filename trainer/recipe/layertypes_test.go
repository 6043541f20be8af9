package recipe

import (
	"strings"
	"testing"

	"driftlab/model"
)

// A pattern of layer types is one for each layer in the resolved recipe, reads back from its text,
// and a recipe without one keeps the text that it had; a form without a layer cannot act.
func TestLayerTypes(t *testing.T) {
	r := loaded(t, "default", "checkpoint=", "model={layers: 3, layer_types: [linear_attention, full_attention]}", "learner.numerics={base: bf16, linear_attention: chunked}")
	resolved := r.Resolved()
	if got := resolved.Model.LayerTypes; got != "linear_attention,full_attention,linear_attention" {
		t.Errorf("types %q", got)
	}
	again, err := Parse("again.yaml", resolved.YAML())
	if err != nil || again.Model != resolved.Model || again.Learner.Numerics != resolved.Learner.Numerics || again.Identity() != resolved.Identity() {
		t.Errorf("read back: %v, %+v", err, again.Model)
	}
	if text := string(resolved.YAML()); !strings.Contains(text, "layer_types: [linear_attention, full_attention, linear_attention]") || !strings.Contains(text, "linear_attention: chunked:16") {
		t.Errorf("text:\n%s", text)
	}
	if d := Default().Resolved(); strings.Contains(string(d.YAML()), "linear_attention") || strings.Contains(string(d.YAML()), "layer_types") {
		t.Error("a recipe without linear attention names it")
	}
	full, err := Load("default", "checkpoint=", "model={layer_types: full_attention}", "rollout.numerics={base: bf16, linear_attention: chunked:4}")
	if err != nil || full.Resolved().Model.LayerTypes != "" || full.Resolved().Model.HasLayer(model.LinearAttention) {
		t.Errorf("%v, %+v", err, full.Resolved().Model)
	}
	if notes := strings.Join(full.Resolved().Inert(), "\n"); !strings.Contains(notes, "rollout.numerics.linear_attention chunked:4: no layer") {
		t.Errorf("notes %q", notes)
	}
}
