package recipe

import (
	"slices"
	"strings"
	"testing"
)

// production are the recipes of published runs and their kin: each has a page that says what is
// modelled and what is not, and arms.
var production = []string{"compassmax", "dapo", "deepseek-v3.2", "dr-grpo", "intellect-3", "kimi-k2", "knapsack", "magistral", "minimax-m1", "ring-1t", "tool-turns"}

// TestProductionRecipes: every arm loads, changes the recipe and runs under a name of
// its own; and neither it nor the recipe has a part that cannot act, but for what the
// arm takes away.
func TestProductionRecipes(t *testing.T) {
	for _, name := range production {
		whole, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, note := range whole.Resolved().Inert() {
			t.Errorf("%s: %s", name, note)
		}
		page := Page(name)
		for _, line := range []string{"Modelled: ", "Not modelled: ", "Inferred: ", "Look at: "} {
			if strings.Count("\n"+page, "\n"+line) != 1 {
				t.Errorf("%s: its page has no line %q", name, line)
			}
		}
		arms := Arms(name)
		if len(arms) < 2 || strings.Contains(page, armMark) {
			t.Errorf("%s: %d arms", name, len(arms))
		}
		for _, arm := range arms {
			r, err := Load(name + "@" + arm.Name)
			if err != nil {
				t.Errorf("%s@%s: %v", name, arm.Name, err)
				continue
			}
			if r.Name != name+"-"+arm.Name {
				t.Errorf("%s@%s calls itself %s", name, arm.Name, r.Name)
			}
			r.Name = whole.Name
			if slices.Equal(r.YAML(), whole.YAML()) {
				t.Errorf("%s@%s changes nothing", name, arm.Name)
			}
		}
	}
	for name, want := range map[string]string{"dapo@nosuch": "known: symmetric-clip", "headline@x": "has no arms", "nosuch@x": "nosuch@x"} {
		if _, err := Load(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if r, err := Load("dapo@no-overlong", "steps=3"); err != nil || r.Steps != 3 || len(r.Reward) != 1 {
		t.Errorf("an arm with a change: %d steps, %v", r.Steps, err)
	}
	if source, _ := Locate("dapo@symmetric-clip", "loss.eps_high"); !strings.HasPrefix(source, "dapo@symmetric-clip") {
		t.Errorf("what an arm says is found at %q", source)
	}
}
