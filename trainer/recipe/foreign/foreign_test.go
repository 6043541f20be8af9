package foreign

import (
	"strings"
	"testing"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"

	"github.com/google/go-cmp/cmp"
)

// TestRoundTrip writes a correction in every syntax and reads it back: what the syntax
// can say is the same to the last bit.
func TestRoundTrip(t *testing.T) {
	for _, set := range []struct {
		framework string
		sets      []string
	}{
		{"verl", []string{"correction=decoupled_token_is"}},
		{"verl", []string{"correction=decoupled_geo_rs_seq_tis"}},
		{"verl", []string{"correction=decoupled_token_icepop"}},
		{"verl", []string{"correction={weights: {name: sequence_mis, low: 0.5, high: 3}, masks: [{name: token_k1, low: 0.8, high: 1.3}, {name: seq_max_k2, high: 0.05}]}"}},
		{"verl", []string{"correction={weights: {name: token_tis, cap: 1.7}, batch_normalize: true}", "routing.replay=r3"}},
		{"verl", []string{"correction={preset: bypass_pg_geo_rs_seq_tis}", "loss=reinforce"}},
		{"verl", []string{"correction={preset: bypass_ppo_clip}"}},
		{"skyrl", []string{"correction=skyrl_all"}},
		{"skyrl", []string{"correction=skyrl_sequence_tis"}},
		{"skyrl", []string{"correction=skyrl_product"}},
		{"skyrl", []string{"correction=skyrl_all", "loss={name: gspo_token, ratio_mask: pre}"}},
		{"trl", []string{"correction={weights: {name: token_tis, cap: 2, floor: 0.1, from_turn: 0}, masks: [{name: opsm, delta: 0.3}], denominator: pre, clamp: .inf}"}},
		{"trl", []string{"correction={weights: {name: sequence_mis, low: 0.5, high: 3}, denominator: pre, clamp: .inf}"}},
		{"trl", []string{"correction={weights: {name: token_mis, low: 0.5, high: 3}, denominator: pre, clamp: .inf}"}},
		{"trl", []string{"correction={denominator: pre, clamp: .inf}"}},
		{"slime", []string{"correction={weights: {name: token_tis, cap: 2, floor: 0.5, from_turn: 0}, clamp: .inf}", "routing.replay=r2"}},
		{"slime", []string{"correction={weights: {name: icepop, low: 0.5, high: 5}, clamp: .inf}", "routing.replay=r3"}},
		{"slime", []string{"correction={weights: {name: sequence_tis, cap: 2}, masks: [{name: geometric, low: 0.99, high: 1.01}, {name: veto, threshold: 1e-4}]}"}},
		{"slime", []string{"correction={weights: {name: token_tis, cap: 2, floor: 0.5, from_turn: 0}, batch_normalize: true}"}},
		{"slime", []string{"correction={masks: [{name: opsm, delta: 0.1}], mode: bypass}"}},
		{"prime-rl", []string{"loss={name: ipo, delta: 0.1, adv_tau: 0.9, kl_tau: 0, log_clamp: 0}"}},
		{"prime-rl", []string{"loss={name: rollout_is, eps_low: 0.75, eps_high: 3}"}},
	} {
		want, err := recipe.Load("default", set.sets...)
		if err != nil {
			t.Fatal(err)
		}
		text, notes := Write(set.framework, want)
		if len(notes) > 0 {
			t.Errorf("%s %v: %v", set.framework, set.sets, notes)
		}
		c, err := Read("back", []byte(text))
		if err != nil {
			t.Errorf("%s %v: %v\n%s", set.framework, set.sets, err, text)
			continue
		}
		got := recipeOf(t, c)
		if c.Framework != set.framework || got.Routing != want.Routing || got.Loss.Name != want.Loss.Name {
			t.Errorf("%s %v: %s, %v, %v\n%s", set.framework, set.sets, c.Framework, got.Routing, got.Loss, text)
		}
		if diff := cmp.Diff(want.Correction.Pipeline().Recipe(), got.Correction.Pipeline().Recipe()); diff != "" {
			t.Errorf("%s: %s\n%s", set.framework, diff, text)
		}
		if want.Loss.Name == "ppo_clip" { // its bounds are the framework's, and are not written
			continue
		}
		if diff := cmp.Diff(want.Loss.Params, got.Loss.Params); diff != "" {
			t.Errorf("%s: %s\n%s", set.framework, diff, text)
		}
	}
}

// TestCannotSay holds the notes to what is left out.
func TestCannotSay(t *testing.T) {
	r, err := recipe.Load("default", "correction={weights: {name: token_tis}, masks: [{name: geometric}]}")
	if err != nil {
		t.Fatal(err)
	}
	for framework, want := range map[string]string{
		"verl":     "verl bounds the inverse ratio: 0.99_1.01 there is 0.9901 to 1.0101 of the ratio",
		"skyrl":    "",
		"trl":      "trl has no mask geometric",
		"slime":    "",
		"prime-rl": "prime-rl has no mask geometric",
	} {
		text, notes := Write(framework, r)
		if got := strings.Join(notes, "; "); got != want {
			t.Errorf("%s: %q, want %q", framework, got, want)
		}
		c, err := Read("back", []byte(text))
		if err != nil || c.Framework != framework {
			t.Errorf("%s: %v\n%s", framework, err, text)
			continue
		}
		if w, ok := c.Pipeline.Weights.(*correction.TokenTIS); framework != "prime-rl" && (!ok || w.Cap != 2) {
			t.Errorf("%s: %v\n%s", framework, c.Pipeline.Weights, text)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"rollout_is: token", "--use-tis --tis-clip 2", "[trainer.loss]\nkl_tau = 1", "GRPOConfig(use_vllm=True)", "a: &x [*x]", "loss_fn: {<<: 3}", "--a b c d\n--tis-clip [1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read("x", text)
		if err == nil && c.Off == "" {
			_, _ = c.Changes()
		}
	})
}
