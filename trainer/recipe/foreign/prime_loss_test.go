package foreign

import (
	"fmt"
	"testing"

	"driftlab/trainer/recipe"
)

// recipeOf is the default recipe with a configuration's fields.
func recipeOf(t testing.TB, c *Config) recipe.Recipe {
	t.Helper()
	changes, err := c.Changes()
	if err != nil {
		t.Fatal(err)
	}
	r, err := recipe.LoadChanged("default", changes...)
	if err != nil {
		t.Fatalf("%v\n%v", err, c.Assignments())
	}
	return r
}

// TestPrimeLoss holds prime-rl's loss section to the loss that its golden cases are
// computed with.
func TestPrimeLoss(t *testing.T) {
	c, err := Read("rl.toml", []byte("[trainer.loss]\ntype = \"default\"\ndppo_mask_low = 0.05 # tight\ndppo_mask_high = 0.1\nadv_tau = 0.7\nkl_tau = 5e-2\n"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "{name: prime_dppo, delta_low: 0.05, delta_high: 0.1, adv_tau: 0.7, kl_tau: 0.05, log_clamp: 0}"
	if got := recipeOf(t, c); c.Loss != want || got.Loss.Name != "prime_dppo" {
		t.Errorf("%s: %s, and %s", c.Framework, c.Loss, fmt.Sprint(got.Loss))
	}
}
