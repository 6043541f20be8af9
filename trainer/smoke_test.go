package trainer

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/model"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// smoke is two steps from the default checkpoint, small enough that every
// method can make them, with a sampling engine that differs from the learner.
func smoke(t *testing.T, sets ...string) recipe.Recipe {
	t.Helper()
	r := loaded(t, "default", append([]string{
		"name=smoke", "steps=2", "task.difficulty=[3, 4]", "rollout.numerics=bf16", "learner.numerics=fp32",
		"rollout.prompts=4", "rollout.group=4", "rollout.max_tokens=16", "learner.optimizer.warmup=0", "eval.every=0",
	}, sets...)...)
	return r
}

// companions are the settings that a method needs beside its name; a method
// that is not here needs none. At temperature 1 the checkpoint's responses to a
// prompt have one form and nearly one length, and rewards of either are equal.
var companions = map[string][]string{
	"reward/format":             {"rollout.temperature=1.5"},
	"reward/length_group":       {"rollout.temperature=1.5"},
	"reward/length_uniform":     {"rollout.temperature=1.5"},
	"reward/overlong":           {"rollout.temperature=1.5", "reward[0].max_length=16", "reward[0].buffer=12"},
	"reward/length_anchor":      {"rollout.temperature=1.5", "reward[0].by=prompt_tokens", "reward[0].solved=0", "steps=3"},
	"reward/pass_at_k":          {"reward[0].k=2"},
	"reward/group_max":          {"reward[0].k=2"},
	"routing.gates/recorded":    {"routing.replay=keep_routing", "rollout.numerics=bf16"},
	"loss/prime_geo":            {"loss.teacher_tau=0.1", "teacher=chain-base"},
	"loss/iw_opd":               {"teacher=search-base"},
	"advantage/process":         {"reward=[exact, process]"},
	"advantage/vine":            {"prefix_values={by: completions}"},
	"reward/marginal_utility":   {"prefix_values={}"},
	"reward/length_linear":      {"reward=[exact, length_linear]"},
	"reward/stop_properly":      {"reward=[exact, format, stop_properly]"},
	"reward/repetition":         {"rollout.temperature=1.5", "reward[0].n=1"},
	"reward/length_step":        {"rollout.temperature=1.5", "reward[0].target=12"},
	"terms/distill_k2":          {"teacher=search-base"},
	"terms/gkd":                 {"teacher=search-base"},
	"terms/jsd":                 {"teacher=search-base"},
	"terms/opd_topk":            {"teacher=search-base"},
	"terms/rlsd":                {"teacher=search-base"},
	"terms/sdar":                {"teacher=search-base"},
	"terms/shadow_distillation": {"rollout.kv_retention={}", "retention.replay=true"},
}

// set names a method in its field.
func set(m recipe.Method) []string {
	value := m.Name
	switch m.Field {
	case "reward", "guards", "terms", "correction.masks":
		value = "[" + m.Name + "]"
	}
	return append([]string{m.Field + "=" + value}, companions[m.Field+"/"+m.Name]...)
}

// TestEveryMethod trains every method of every registry for a few steps: its
// updates are finite and not zero, and with -exhaustive the same when the run is repeated.
func TestEveryMethod(t *testing.T) {
	fields := map[string]int{}
	for _, m := range recipe.Methods() {
		fields[m.Field]++
		if m.Field == "task" {
			continue // the package task tests its own
		}
		t.Run(m.Field+"/"+m.Name, func(t *testing.T) {
			t.Parallel()
			checkUpdates(t, set(m)...)
		})
	}
	for _, field := range []string{"schedule", "routing.replay", "routing.gates", "reward", "advantage", "correction.weights", "correction.masks", "loss", "terms", "kl", "guards"} {
		if fields[field] == 0 {
			t.Errorf("no method of %s was found", field)
		}
	}
	for name := range companions {
		field, method, _ := strings.Cut(name, "/")
		if !slices.ContainsFunc(recipe.Methods(), func(m recipe.Method) bool { return m.Field == field && m.Name == method }) {
			t.Errorf("companions of %s, which does not exist", name)
		}
	}
}

// TestEveryPreset is TestEveryMethod for the published corrections.
func TestEveryPreset(t *testing.T) {
	for _, preset := range correction.Presets {
		t.Run(preset.Name, func(t *testing.T) {
			t.Parallel()
			checkUpdates(t, "correction="+preset.Name, "loss="+preset.Loss)
		})
	}
}

// checkUpdates runs the recipe, with -exhaustive twice.
func checkUpdates(t *testing.T, sets ...string) {
	t.Helper()
	r := smoke(t, sets...)
	first := mustRun(t, r, Options{})
	for _, c := range first.Record.Columns {
		if len(c.Value) > r.Steps {
			t.Errorf("%s is logged twice in a step", c.Name)
		}
		for _, v := range c.Value {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s is %v", c.Name, v)
			}
		}
	}
	start, err := model.Open(r.Checkpoint)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(first.Params.Theta, start.Params.Theta) {
		t.Error("the weights did not move")
	}
	if *exhaustive && !slices.Equal(first.Params.Theta, mustRun(t, r, Options{}).Params.Theta) {
		t.Error("two runs of the same recipe end in different weights")
	}
}
