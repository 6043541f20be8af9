package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study/claims"
	"driftlab/results/record"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/recipe"
)

// Every claim that a method's text cites is in the registry of claims.
func TestMethodsCiteClaimsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, c := range claims.All() {
		known[c.ID] = true
	}
	cited := regexp.MustCompile(`\bclaims? ([a-z0-9]+(?:-[a-z0-9]+)+)`)
	for _, m := range recipe.Methods() {
		for _, found := range cited.FindAllStringSubmatch(methodText(m), -1) {
			if !known[found[1]] {
				t.Errorf("%s cites claim %s, which does not exist", m.Name, found[1])
			}
		}
	}
}

// verl's names of the controllers lead to the term that has them as parameters.
func TestControllersAreFound(t *testing.T) {
	for _, name := range []string{"adaptive_kl", "fixed_kl", "unbiased_k3"} {
		found, err := findMethods(name)
		if err != nil || len(found) != 1 || name != "unbiased_k3" && !strings.Contains(methodText(found[0]), name) {
			t.Errorf("%s: %d methods, %v", name, len(found), err)
		}
	}
}

// Every published correction says what it does, with its methods' names.
func TestPresetsAreExplained(t *testing.T) {
	for _, p := range correction.Presets {
		s := p.Summary()
		if len(s) < 40 || strings.ContainsAny(s, "{}") {
			t.Errorf("%s: %q", p.Name, s)
		}
	}
	p, err := correction.LookupPreset("decoupled_token_is")
	if err != nil || p.Summary() != "old against rollout, once per batch; weights token_tis cap 2, floor 0, from_turn 0" {
		t.Errorf("%v %q", err, p.Summary())
	}
}

// A method that is a setting of a study, too, has the lines for a recipe and for frameworks, and says so where that setting changes more.
func TestMethodsHaveLines(t *testing.T) {
	for _, k := range []struct {
		name, field, want string // no want where the setting of that name has another method
		alone             bool
	}{
		{"r3", "routing.replay", "--use-rollout-routing-replay", true},
		{"topr", "loss", "In a recipe\n  loss: topr\n", true},
		{"gspo", "loss", "In a recipe\n  loss: {name: gspo}\n", true},
		{"veto", "correction.masks", "{name: token_tis, cap: 2}", false},
		{"rspo", "loss", "eps_high: 0.28", false},
		{"oapl", "loss", "beta2: 0.1", false},
		{"oapl", "schedule", "", false},
		{"geometric", "correction.masks", "{name: geometric, low: 0.9, high: 1.1}", false},
		{"band", "correction.masks", "", false},
	} {
		found, err := findMethods(k.name)
		i := slices.IndexFunc(found, func(m recipe.Method) bool { return m.Field == k.field })
		if err != nil || i < 0 {
			t.Errorf("%s: %v, field %s at %d", k.name, err, k.field, i)
			continue
		}
		before, after, ok := strings.Cut(methodText(found[i]), "In a recipe")
		if ok != (k.want != "") || !strings.Contains("In a recipe"+after, k.want) || strings.Contains(before, "As the setting "+k.name+" of stability/") != (ok && !k.alone) {
			t.Errorf("%s: want %q, alone %v: %s", k.name, k.want, k.alone, methodText(found[i]))
		}
	}
}

// What a method reads under some parameters is told with them.
func TestMethodsTellConditions(t *testing.T) {
	for name, want := range map[string]string{
		"decoupled_ppo": "Version (prox loglinear, linear)", "topr": "Turn (level turn)", "kl_cov": "DistOld (exact), Dist (exact)",
	} {
		found, err := findMethods(name)
		if err != nil || !strings.Contains(methodText(found[0]), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if text, err := record.Document(found); err != nil || !strings.Contains(string(text), want[:strings.IndexByte(want, ')')+1]) {
			t.Errorf("%s in JSON: %v, want %q", name, err, want)
		}
	}
}

// The reference of a recipe speaks of fields and values, not of Go.
func TestReferenceLeaksNoGo(t *testing.T) {
	leak := regexp.MustCompile(`\b[a-z]+\.[A-Z][A-Za-z]*|\bzero value\b|\b(nil|struct|WithDefaults|MarshalText|FleetMember|SoftmaxThenTopK|TopKThenSoftmax|LossScale)\b`)
	for _, f := range recipe.Reference() {
		if found := leak.FindString(f.Doc); found != "" {
			t.Errorf("%s: %q in %q", f.Path, found, f.Doc)
		}
	}
}
