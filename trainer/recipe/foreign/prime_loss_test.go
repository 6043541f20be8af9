package foreign

import (
	"reflect"
	"slices"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// recipeOf is the default recipe with a configuration's fields.
func recipeOf(t testing.TB, c *Config) recipe.Recipe {
	t.Helper()
	changes := must.Get(c.Changes())(t)
	r, err := recipe.LoadChanged("default", changes...)
	if err != nil {
		t.Fatalf("%v\n%v", err, c.Assignments())
	}
	return r
}

// TestWriteCentering: the option of a loss and the name of it are written alike, and read back to the option.
func TestWriteCentering(t *testing.T) {
	for _, c := range []struct{ framework, loss, older string }{
		{"prime-rl", "{name: ipo, delta: 0.3, kl_tau: 0, log_clamp: 0, cap: 1e4, centering: {}}", "{name: ipo, delta: 0.3, kl_tau: 0, log_clamp: 0, cap: 1e4, centering: {}}"},
		{"nemo-rl", "{name: reinforce, aggregation: token-mean, centering: {weights: tis, cap: 3}}", "{name: score_centering, weights: tis, cap: 3}"},
		{"nemo-rl", "{name: reinforce, aggregation: token-mean, centering: {weights: mis, low: 0.4, high: 4}}", "{name: score_centering, weights: mis, low: 0.4, high: 4}"},
		{"nemo-rl", "{name: reinforce, aggregation: token-mean, centering: {}}", "{name: score_centering}"},
		{"slime", "{name: reinforce, aggregation: token-mean, centering: {weights: tis, cap: 3, head: 64}}", "{name: score_centering, weights: tis, cap: 3, head: 64}"},
	} {
		want := must.Get(recipe.Load("default", "loss="+c.loss))(t)
		text, notes := Write(c.framework, want)
		older := must.Get(recipe.Load("default", "loss="+c.older))(t)
		if same, _ := Write(c.framework, older); same != text || len(notes) > 0 {
			t.Errorf("%s writes %q and %q: %v", c.loss, text, same, notes)
		}
		back := must.Get(ReadAs(c.framework, "", []byte(text)))(t)
		if got := recipeOf(t, back).Loss; !reflect.DeepEqual(got, want.Loss) {
			t.Errorf("%s is written as %q, which reads as %+v", c.loss, text, got.Params)
		}
	}
}

// TestReportSharedKeys: a setting that the loss has read is taken over, whatever other group of settings has it too, and one that acts with another loss is not.
func TestReportSharedKeys(t *testing.T) {
	for _, c := range []struct {
		name, text string
		left       []string
	}{
		{"slime", "python3 train.py --advantage-estimator grpo --use-score-centering --use-tis --tis-clip 3", nil},
		{"nemo-rl", "loss_fn: {score_centering: true, disable_ppo_ratio: true, use_importance_sampling_correction: true, truncated_importance_sampling_type: icepop, truncated_importance_sampling_ratio: 5}", nil},
		{"nemo-rl", "loss_fn: {score_centering: true, use_importance_sampling_correction: true, truncated_importance_sampling_type: icepop, truncated_importance_sampling_ratio: 5}", []string{"loss_fn.score_centering"}},
		{"nemo-rl", "loss_fn: {score_centering: true, disable_ppo_ratio: true, use_importance_sampling_correction: true, truncated_importance_sampling_ratio: 5, truncated_importance_sampling_ratio_min: 0.5}", []string{"loss_fn.score_centering"}},
	} {
		config := must.Get(ReadAs(c.name, "", []byte(c.text)))(t)
		var left []string
		for _, s := range config.Settings {
			if s.Fate != Taken {
				left = append(left, s.Key)
			}
		}
		if !slices.Equal(left, c.left) {
			t.Errorf("%s %q: not taken over are %q, expected %q", c.name, c.text, left, c.left)
		}
	}
}
