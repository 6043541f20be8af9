package precision

import "testing"

// TestNearestName: what was meant, and no suggestion where nothing is near.
func TestNearestName(t *testing.T) {
	numerics := []string{"fp32", "bf16", "fp16", "fp8-w8a8", "fp8-block", "int8"}
	commands := []string{"measure", "train", "lesson", "report", "reproduce"}
	fields := []string{"lora", "rollout.speculative.distill.lr", "learner.optimizer.lr", "layers", "layer_types", "token_mean", "token_mis", "eps_low"}
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"fp8", numerics, "fp8-w8a8"},
		{"block", numerics, "fp8-block"},
		{"bf61", numerics, "bf16"},
		{"fp7", numerics, ""},
		{"version", commands, ""},
		{"mesure", commands, "measure"},
		{"repro", commands, "reproduce"},
		{"lr", fields, "learner.optimizer.lr"},
		{"learner.lr", fields, "learner.optimizer.lr"},
		{"layer", fields, "layers"},
		{"Token-Mean", fields, "token_mean"},
		{"eps_lo", fields, "eps_low"},
		{"aggregation", []string{"correction"}, ""},
		{"x", []string{"x1"}, ""},
		{"", fields, ""},
		{"--", fields, ""},
		{"lr", nil, ""},
	} {
		if got := Nearest(c.name, c.names); got != c.want {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}
