package measure

import (
	"context"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// tinyLayers is a recipe of a few short responses.
func tinyLayers(t *testing.T, set ...string) recipe.Recipe {
	t.Helper()
	return must.Get(recipe.Load("default", append([]string{"rollout.prompts=2", "rollout.group=2"}, set...)...))(t)
}

// divergence compares two engines, by their names.
func divergence(t *testing.T, rollout, learner string, set ...string) *Divergence {
	t.Helper()
	r := tinyLayers(t, append([]string{"rollout.numerics=" + rollout, "learner.numerics=" + learner}, set...)...)
	d := must.Get(Layers(context.Background(), r, Pair{}, 2))(t)
	if d.Tokens == 0 {
		t.Fatal("no token")
	}
	return d
}

// With equal numerics no operation differs at any token; decoding gave the same bits as well.
func TestLayersEqual(t *testing.T) {
	for _, numerics := range []string{"fp32", "bf16", "fp8-w8a8"} {
		d := divergence(t, numerics, numerics)
		if d.Equal != d.Tokens || d.Unequal != 0 {
			t.Errorf("%s: %d of %d tokens are equal, %d log-probs are not those of decoding", numerics, d.Equal, d.Tokens, d.Unequal)
		}
		for _, o := range d.Operations {
			if o.First != 0 || o.Differ != 0 || o.High != 0 || o.Flips != 0 {
				t.Errorf("%s: %+v", numerics, o)
			}
		}
	}
}

// The tokens part where the numerics first differ: a coarse router at the router of layer 0, a coarse cache at the keys, a
// coarse head at the logits and nowhere before. Every token parts once, or nowhere.
func TestFirstDivergence(t *testing.T) {
	for _, c := range []struct {
		rollout, first string
		layer          int // -2: after the layers
	}{
		{"{base: fp32, router: bf16}", "router", 0},
		{"{base: fp32, kv_cache: fp8_e4m3}", "keys", 0},
		{"{base: fp32, head: bf16}", "final norm", -2}, // which a coarse head reads rounded
		{"bf16", "embedding", -1},
	} {
		d := divergence(t, c.rollout, "fp32")
		parted, reached := 0, false
		for _, o := range d.Operations {
			parted += o.First
			layer := c.layer
			if layer == -2 {
				layer = o.Layer
			}
			if o.Name == c.first && o.Layer == layer {
				reached = true
				if o.First == 0 || o.High == 0 {
					t.Errorf("%s: nothing parts at its first operation: %+v", c.rollout, o)
				}
			} else if !reached && o.Differ != 0 {
				t.Errorf("%s: a token parts before %s of layer %d: %+v", c.rollout, c.first, c.layer, o)
			}
		}
		if !reached || parted+d.Equal != d.Tokens {
			t.Errorf("%s: %d tokens part and %d are equal, of %d", c.rollout, parted, d.Equal, d.Tokens)
		}
	}
}

// What cannot be compared so is refused by its field.
func TestLayersRefuses(t *testing.T) {
	r := tinyLayers(t, "rollout.kv_retention={policy: heavy_hitter, keep: 0.5}")
	if _, err := Layers(context.Background(), r, Pair{}, 1); err == nil {
		t.Error("a compressed cache is compared")
	}
	if _, err := Layers(context.Background(), tinyLayers(t), Pair{Learner: tinyLayers(t).Learner.Numerics}, 1); err == nil {
		t.Error("numerics without a format are compared")
	}
}
