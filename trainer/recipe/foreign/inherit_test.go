package foreign

import (
	"errors"
	"strings"
	"testing"
)

// TestParents reads what a file leaves to its parents: the file wins, then later parents; one that is not there leaves defaults open.
func TestParents(t *testing.T) {
	files := map[string]string{
		"base.yaml":       "defaults: deep/root.yaml\ngrpo: {num_generations_per_prompt: 8}\nloss_fn: {ratio_clip_min: 0.2, ratio_clip_max: 0.25}\n",
		"deep/root.yaml":  "policy: {generation: {temperature: 0.7}}\nloss_fn: {ratio_clip_max: 0.9}\n",
		"loop.yaml":       "defaults: loop.yaml\nloss_fn: {ratio_clip_min: 0.1}\n",
		"unreadable.yaml": "a: [1\n",
	}
	parent := func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no such file")
	}
	for _, c := range []struct{ text, want, not, note string }{
		{"defaults: base.yaml\nloss_fn: {ratio_clip_min: 0.1}\n", "eps_low: 0.1, eps_high: 0.25, dual_clip: 0}\nrollout.group=8\nrollout.temperature=0.7", "", "defaults: base.yaml is read"},
		{"defaults: [deep/root.yaml, base.yaml]\nloss_fn: {ratio_clip_min: 0.1}\n", "eps_high: 0.25", "", "defaults: deep/root.yaml is read"},
		{"defaults: gone.yaml\nloss_fn: {ratio_clip_min: 0.1, ratio_clip_max: 0.3}\n", "eps_high: 0.3", "kl=", "defaults: gone.yaml is not there: all that it states is unknown"},
		{"defaults: unreadable.yaml\nloss_fn: {ratio_clip_min: 0.1}\n", "eps_low: 0.1", "kl=", "cannot be read"},
		{"defaults: loop.yaml\nloss_fn: {ratio_clip_max: 0.3}\n", "eps_low: 0.1, eps_high: 0.3", "", "parents"},
	} {
		got, err := ReadWith("nemo-rl", "child.yaml", []byte(c.text), parent)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		all, notes := strings.Join(got.Assignments(), "\n"), strings.Join(got.Notes, "\n")
		for _, part := range strings.Split(c.want, "\n") {
			if !strings.Contains(all, part) {
				t.Errorf("%q: no %q in\n%s", c.text, part, all)
			}
		}
		if c.not != "" && strings.Contains(all, c.not) {
			t.Errorf("%q: %q stands in\n%s", c.text, c.not, all)
		}
		if !strings.Contains(notes, c.note) {
			t.Errorf("%q: no %q in the notes\n%s", c.text, c.note, notes)
		}
	}
}

// TestUnknownCorrection holds a key of the correction's section that is not known, and a gate without a counterpart, to be unknown and not off.
func TestUnknownCorrection(t *testing.T) {
	for name, text := range map[string]string{
		"verl": "algorithm: {rollout_correction: {rejection_family: bernoulli, rejection_bound: 0.1}}\nactor_rollout_ref: {actor: {clip_ratio: 0.2}}\n",
	} { // each by itself
		got, err := ReadAs("", "x", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Framework != name || got.Unknown == "" || got.Off != "" {
			t.Errorf("%s: %s, unknown %q, off %q", name, got.Framework, got.Unknown, got.Off)
		}
	}
}
