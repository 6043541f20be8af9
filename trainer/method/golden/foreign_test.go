package golden

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// configured is how the parameters of a reference's function stand in its configuration.
type configured struct {
	file, framework string
	wrap            func(v Values) map[string]any
	columns         [3]string // learner, rollout engine, mask
	weights, mask   string
	// skip says why a case is not one of a configuration, empty if it is.
	skip func(c *Case) string
}

func under(path ...string) func(v Values) map[string]any {
	return func(v Values) map[string]any {
		inner := map[string]any(v)
		for i := len(path) - 1; i >= 0; i-- {
			inner = map[string]any{path[i]: inner}
		}
		return inner
	}
}

var configurations = []configured{
	{"verl/rollout_corr_combined.json", "verl", under("algorithm", "rollout_correction"), [3]string{"old_log_prob", "rollout_log_prob", "response_mask"},
		"rollout_is_weights", "modified_response_mask", func(c *Case) string {
			delete(c.Params, "preset")
			if c.Params.Bool("bypass_mode") {
				c.Params["loss_type"] = "reinforce" // the function computes weights whatever the loss does with them
			}
			if c.Params.Has("rollout_is") && !c.Params.Has("rollout_is_threshold") {
				return "no threshold"
			}
			return ""
		}},
	{"slime/mis_weights.json", "slime", under(), [3]string{"train_logp", "rollout_logp", "mask"}, "weights", "modified_mask", func(c *Case) string {
		v := c.Params
		high := v.Float("tis_upper_bound")
		low := v.FloatOr("tis_lower_bound", 1/high)
		rsHigh := v.FloatOr("rs_upper_bound", high)
		switch {
		case v.Bool("tis_batch_normalize") && v.String("tis_level") != "token":
			return "normalises over tokens what counts per response"
		case v.String("tis_mode") == "mask" && v.Bool("use_rs") && v.String("rs_level") == v.String("tis_level"):
			return "two masks of one name: the weights alone"
		case v.Bool("use_rs") && v.FloatOr("rs_lower_bound", v.FloatOr("tis_lower_bound", 1/rsHigh)) > rsHigh, low > high:
			return "bounds crossed"
		}
		return ""
	}},
	{"trl/grpo_corrections.json", "trl", under(), [3]string{"old_logp", "rollout_logp", "mask"}, "importance_sampling_ratio", "off_policy_mask", func(c *Case) string {
		for key := range c.Params {
			if !strings.HasPrefix(key, "vllm_") && key != "off_policy_mask_threshold" && key != "use_vllm" {
				delete(c.Params, key)
			}
		}
		if c.Params.Has("off_policy_mask_threshold") && c.Params.Float("off_policy_mask_threshold") < 0 {
			return "a threshold below 0"
		}
		if !c.Inputs.Has("rollout_logp") {
			return "no rollout engine"
		}
		return ""
	}},
}

// TestConfigurationToRecipeToWeights takes the parameters of the references' cases for their
// configuration: read, made a recipe and applied, they must give the reference's weights
// and mask. Those of SkyRL, AReaL and ROLL are read so by their matchers.
func TestConfigurationToRecipeToWeights(t *testing.T) {
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	tried, skipped := map[string]int{}, map[string]int{}
	for _, c := range cases {
		for _, p := range configurations {
			if c.File != p.file || c.Raised() {
				continue
			}
			if p.skip != nil {
				if why := p.skip(c); why != "" {
					skipped[p.framework]++
					t.Logf("%v: not tried: %s", c, why)
					continue
				}
			}
			tried[p.framework]++
			r, err := recipeOf(p.framework, p.wrap(c.Params))
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
			p.hold(t, c, r)
		}
	}
	for _, p := range configurations {
		if tried[p.framework] < 15 || skipped[p.framework] > tried[p.framework] {
			t.Errorf("%s: %d cases tried, %d not", p.framework, tried[p.framework], skipped[p.framework])
		}
	}
}

// recipesOf are the recipes of configurations, by framework and text: many cases share one.
var recipesOf = map[string]*recipe.Recipe{}

// recipeOf makes a recipe of a framework's configuration.
func recipeOf(framework string, settings map[string]any) (*recipe.Recipe, error) {
	text, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	key := framework + string(text)
	if r := recipesOf[key]; r != nil {
		return r, nil
	}
	config, err := foreign.ReadAs("", "config.json", text)
	if err != nil {
		return nil, err
	}
	if config.Framework != framework {
		return nil, fmt.Errorf("a configuration of %s is taken for one of %s", framework, config.Framework)
	}
	changes, err := config.Changes()
	if err != nil {
		return nil, err
	}
	r, err := recipe.LoadChanged("default", changes...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%v", err, config.Assignments())
	}
	recipesOf[key] = &r
	return &r, nil
}

// hold compares one case.
func (p configured) hold(t *testing.T, c *Case, r *recipe.Recipe) {
	t.Helper()
	b := ragged(c, p.columns[2])
	b.Old.Logp, b.LogpRoll = cut(c, p.columns[0]), cut(c, p.columns[1])
	b.Anchor, b.Now.Logp = b.Old.Logp, b.Old.Logp
	if c.Inputs.Has("logp") {
		b.Now.Logp = cut(c, "logp")
	}
	b.Advantage = spread(b, c.Inputs.FlatOr("adv_seq"))
	pipeline := r.Correction.Pipeline()
	for _, stage := range []correction.Stage{correction.AtBatch, correction.AtStep} {
		if err := pipeline.Apply(b, stage); err != nil {
			t.Errorf("%v: %v", c, err)
			return
		}
	}
	p.compare(t, c, b)
}

// compare holds weights and mask to the reference's, on the tokens that both train.
func (p configured) compare(t *testing.T, c *Case, b *batch.Batch) {
	t.Helper()
	want := func(output string) []float64 {
		if !c.Outputs.Has(output) {
			return nil
		}
		flat := c.Outputs.Flat(output)
		if c.Inputs.Has("lengths") && len(flat) != b.Tokens() {
			flat = slices.Concat(rowsOf(c, c.Outputs, output)...)
		}
		if len(flat) == b.Tokens() {
			return flat
		}
		return spread(b, flat) // one per response
	}
	weights, mask := want(p.weights), want(p.mask)
	for n, counts := range b.Mask {
		if !counts {
			continue
		}
		kept := b.LossMask[n] && (b.Gate == nil || b.Gate[n])
		if mask != nil && kept != (mask[n] != 0) {
			t.Errorf("%v: token %d: kept %v, the reference %v", c, n, kept, mask[n])
			return
		}
		w := 1.0
		if b.Weight != nil {
			w = b.Weight[n]
		}
		if kept && weights != nil && !Close(w, weights[n], 0) {
			t.Errorf("%v: token %d: weight %v, the reference %v", c, n, w, weights[n])
			return
		}
	}
}
