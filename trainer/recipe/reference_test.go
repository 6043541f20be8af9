package recipe

import (
	"slices"
	"strings"
	"testing"
)

// Every field that a recipe can name is in the reference, with a description.
func TestReference(t *testing.T) {
	var listed []string
	for _, f := range Reference() {
		listed = append(listed, strings.NewReplacer("[0]", "").Replace(f.Path))
		if len(f.Doc) < 10 {
			t.Errorf("%s: not described: %q", f.Path, f.Doc)
		}
	}
	for _, path := range allPaths() {
		known := slices.Contains(listed, path)
		// Those of numerics and optimiser stand once.
		second := strings.Contains(path, ".numerics.") && !strings.HasPrefix(path, "rollout.numerics.") || strings.HasPrefix(path, "rollout.fleet") || strings.Contains(path, ".optimizer.") && !strings.HasPrefix(path, "learner.")
		if !known && !second {
			t.Errorf("%s is not in the reference", path)
		}
	}
	for _, want := range []string{"support.replay: false", "rollout.prefill_chunk: 0", `teacher: ""`, "rollout.kv_scales.every: 1", "rollout.noise.stages: 10",
		"rollout.numerics: fp32", "rollout.numerics.attention: two_pass", "loss: ppo_clip", "routing.router: trained", "terms: []", "rollout.fleet[0].share: 0", "rollout.speculative.draft: 4"} {
		path, value, _ := strings.Cut(want, ": ")
		found := LookUp(path)
		if len(found) == 0 || found[0].Default != value {
			t.Errorf("%s: %+v", want, found)
		}
	}
	if len(LookUp("rollout.noise")) != 4 || len(LookUp("recipe")) != len(listed) || LookUp("rolout") != nil {
		t.Error("fields below a path")
	}
	if text := LookUp("rollout.noise.end")[0].String(); text != "rollout.noise.end: 0.0001\n    end is the standard deviation of the last stage." {
		t.Errorf("%q", text)
	}
}
