package trainer

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/correction"
	"driftlab/trainer/recipe"
)

// smoke is three steps from the default checkpoint, small enough that every
// method can make them, with a sampling engine that differs from the learner.
func smoke(t *testing.T, sets ...string) recipe.Recipe {
	t.Helper()
	r, err := recipe.Load("default", append([]string{
		"name=smoke", "steps=3", "task.difficulty=[3, 4]", "rollout.numerics=bf16-tp4", "learner.numerics=bf16",
		"rollout.prompts=4", "rollout.group=4", "rollout.max_tokens=16", "learner.optimizer.warmup=0", "eval.every=0",
	}, sets...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// companions are the settings that a method needs beside its name; a method
// that is not here needs none. At temperature 1 the checkpoint's responses to a
// prompt have one form and nearly one length, and rewards of either are equal.
var companions = map[string][]string{
	"reward/format":         {"rollout.temperature=1.5"},
	"reward/length_group":   {"rollout.temperature=1.5"},
	"reward/length_uniform": {"rollout.temperature=1.5"},
	"reward/overlong":       {"rollout.temperature=1.5", "reward[0].max_length=16", "reward[0].buffer=12"},
	"reward/length_anchor":  {"rollout.temperature=1.5", "reward[0].by=prompt_tokens", "reward[0].solved=0"},
	"reward/pass_at_k":      {"reward[0].k=2"},
	"loss/prime_geo":        {"loss.teacher_tau=0.1", "teacher=chain-base"},
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
// updates are finite, not zero, and the same when the run is repeated.
func TestEveryMethod(t *testing.T) {
	fields := map[string]int{}
	for _, m := range recipe.Methods() {
		fields[m.Field]++
		if m.Field == "task" {
			continue // the package task tests its own
		}
		t.Run(m.Field+"/"+m.Name, func(t *testing.T) {
			t.Parallel()
			checkUpdates(t, func() *session {
				r, p, err := prepare(smoke(t, set(m)...))
				if err != nil {
					t.Fatal(err)
				}
				teacher, err := openTeacher(r)
				if err != nil {
					t.Fatal(err)
				}
				return newSession(r, p, teacher, Options{})
			})
		})
	}
	for _, field := range []string{"schedule", "reward", "advantage", "correction.weights", "correction.masks", "loss", "terms", "kl", "guards"} {
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
			checkUpdates(t, func() *session {
				r, p, err := prepare(smoke(t, "loss="+preset.Loss))
				if err != nil {
					t.Fatal(err)
				}
				r.Correction.Mode = preset.New().Mode
				s := newSession(r, p, nil, Options{})
				s.correct = preset.New()
				s.objective.correction = s.correct
				return s
			})
		})
	}
}

// checkUpdates runs two sessions of the same recipe.
func checkUpdates(t *testing.T, start func() *session) {
	t.Helper()
	var thetas [2][]float32
	for i := range thetas {
		s := start()
		before := s.learner.Params().Clone()
		result, err := s.run(context.Background(), &book{record: newRecord(s.recipe, "")}, 0)
		s.close()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range result.Record.Columns {
			for _, v := range c.Value {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Errorf("%s is %v", c.Name, v)
				}
			}
		}
		thetas[i] = result.Params.Theta
		if slices.Equal(before.Theta, thetas[i]) {
			t.Error("the weights did not move")
		}
		if i == 0 && s.learner.Updates() != s.recipe.Steps {
			t.Errorf("%d updates in %d steps", s.learner.Updates(), s.recipe.Steps)
		}
	}
	if !slices.Equal(thetas[0], thetas[1]) {
		t.Error("two runs of the same recipe end in different weights")
	}
}
