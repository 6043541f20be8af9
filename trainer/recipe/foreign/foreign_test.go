package foreign

import (
	_ "embed"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"

	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/roundtrip.txt
var roundTripText string

// TestRoundTrip writes a correction in every syntax and reads it back: what the syntax
// can say is the same to the last bit.
func TestRoundTrip(t *testing.T) {
	for line := range strings.Lines(roundTripText) {
		framework, sets, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		want := must.Get(recipe.Load("default", strings.Split(sets, "; ")...))(t)
		text, notes := Write(framework, want)
		if len(notes) > 0 {
			t.Errorf("%s %v: %v", framework, sets, notes)
		}
		c, err := ReadAs("", "back", []byte(text))
		if err != nil {
			t.Errorf("%s %v: %v\n%s", framework, sets, err, text)
			continue
		}
		got := recipeOf(t, c)
		if c.Framework != framework || got.Routing != want.Routing || got.Loss.Name != want.Loss.Name {
			t.Errorf("%s %v: %s, %v, %v\n%s", framework, sets, c.Framework, got.Routing, got.Loss, text)
		}
		if diff := cmp.Diff(want.Correction.Pipeline().Recipe(), got.Correction.Pipeline().Recipe()); diff != "" {
			t.Errorf("%s: %s\n%s", framework, diff, text)
		}
		if want.Loss.Name == "ppo_clip" { // its bounds are the framework's, and are not written
			continue
		}
		if diff := cmp.Diff(want.Loss.Params, got.Loss.Params); diff != "" {
			t.Errorf("%s: %s\n%s", framework, diff, text)
		}
	}
}

// TestCannotSay holds the notes to what is left out.
func TestCannotSay(t *testing.T) {
	r := must.Get(recipe.Load("default", "correction={weights: {name: token_tis}, masks: [{name: geometric}]}"))(t)
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
		c, err := ReadAs("", "back", []byte(text))
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
		c, err := ReadAs("", "x", text)
		if err == nil && c.Off == "" {
			_, _ = c.Changes()
		}
	})
}
