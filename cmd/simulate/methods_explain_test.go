package main

import (
	"encoding/json"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// Every policy loss, weight and mask is explained; other methods have no trace.
func TestEveryMethodIsExplained(t *testing.T) {
	told := 0
	for _, m := range recipe.Methods() {
		x, err := explained(m)
		if err != nil {
			t.Errorf("%s %s: %v", m.Field, m.Name, err)
			continue
		}
		has := m.Field == "loss" || m.Field == "correction.weights" || m.Field == "correction.masks"
		if has != (x != nil) {
			t.Errorf("%s %s: explained %v", m.Field, m.Name, x != nil)
			continue
		}
		if !has {
			continue
		}
		told++
		text := textOf("explanation", x)
		for _, want := range []string{m.Name, "response 1, token 3"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", m.Name, want, text)
			}
		}
		if _, err := json.Marshal(x); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	if told < 70 {
		t.Errorf("only %d methods are explained", told)
	}
}

// The worked example, as a reader sees it.
func TestExplainedText(t *testing.T) {
	found := must.Get(findMethods("ppo_clip"))(t)
	x := must.Get(explained(found[0]))(t)
	text := textOf("explanation", x)
	for _, want := range []string{
		"r = 1.2214\n", "L = -1.2\n  dL = 0\n", "loss = -0.2   (clipped above)\n", "grad = -0.136455\n  difference = -0.136455\n", "sum over tokens = 0.078354\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A preset is explained by its parts, with its own thresholds: SkyRL's and verl's names are no methods.
func TestEveryPresetIsExplained(t *testing.T) {
	told := 0
	for _, p := range correction.Presets {
		pipeline := p.New()
		parts := len(pipeline.Masks)
		if pipeline.Weights != nil {
			parts++
		}
		all, err := explainedPreset(p)
		if len(all) != parts || (err == nil) != (parts > 0) {
			t.Errorf("%s: %d explanations of %d parts, %v", p.Name, len(all), parts, err)
		}
		told += len(all)
	}
	if told < len(correction.Presets) {
		t.Errorf("only %d parts are explained", told)
	}
}
