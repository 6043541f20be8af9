package foreign

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/trainer/recipe"
)

// TestRoundTripEveryMethod writes every loss, weight, mask, penalty and advantage for every framework: what is written is read back as the
// same, or a note says that the framework does not have it. Each framework has some of each kind that it is known for.
func TestRoundTripEveryMethod(t *testing.T) {
	assignment := map[string]string{"loss": "loss=NAME", "kl": "kl={name: NAME}", "advantage": "advantage=NAME", "correction.weights": "correction={weights: {name: NAME}}", "correction.masks": "correction={masks: [{name: NAME}]}"}
	said := map[string]int{}
	for _, m := range recipe.Methods() {
		set, known := assignment[m.Field]
		if !known || m.Name == "" || m.Name == "none" {
			continue
		}
		want, err := recipe.Load("default", strings.Replace(set, "NAME", m.Name, 1))
		if err != nil {
			continue // it needs another part of a recipe
		}
		base := must.Get(recipe.Load("default"))(t)
		for i, framework := range Writable() {
			if !has(framework, m) && i > 0 || fmt.Sprint(parts(base)) == fmt.Sprint(parts(want)) {
				continue
			}
			text, notes := Write(framework, want)
			c, err := ReadAs(framework, framework, []byte(text))
			if err != nil {
				if len(notes) == 0 {
					t.Errorf("%s, %s %s: %v, and no note\n%s", framework, m.Field, m.Name, err, text)
				}
				continue
			}
			if len(notes) > 0 {
				continue
			}
			got := recipeOf(t, c)
			section, _, _ := strings.Cut(m.Field, ".")
			own, other := leaves(map[string]any{section: parts(want)[section]}), leaves(map[string]any{section: parts(got)[section]})
			for _, path := range slices.Sorted(maps.Keys(own)) {
				inLoss := (framework == "prime-rl" || framework == "tinker-cookbook") && section == "correction"
				sameByAnotherName := m.Name == "icepop" || m.Name == "token_mask" || m.Name == "geometric" || m.Name == "sequence_mask" || framework == "roll" && (m.Name == "geometric_tis" || m.Name == "band") || strings.TrimSuffix(other[path], "@pre") == own[path]
				if own[path] == other[path] || inLoss || sameByAnotherName || section == "correction" && !strings.HasPrefix(path, "correction.weights") && path != "correction.masks" {
					continue
				}
				t.Errorf("%s, %s: %s is %s, read back %s\n%s", framework, m.Name, path, own[path], other[path], text)
			}
			said[framework+" "+m.Field]++
		}
	}
	for key, least := range map[string]int{"verl loss": 6, "skyrl loss": 6, "trl loss": 3, "slime loss": 2, "vime loss": 2, "nemo-rl loss": 2, "areal loss": 2, "openrlhf loss": 1, "roll loss": 2, "prime-rl loss": 1,
		"verl advantage": 6, "openrlhf advantage": 3, "slime advantage": 2, "roll kl": 1, "verl correction.weights": 3, "nemo-rl correction.weights": 2, "areal correction.weights": 1,
		"openrlhf correction.weights": 2, "vime correction.weights": 3, "open-instruct correction.weights": 1, "ms-swift correction.weights": 3} {
		if said[key] < least {
			t.Errorf("%s: %d are written, at least %d expected", key, said[key], least)
		}
	}
}

// has reports whether a framework's table names a method, or its own code may.
func has(whose string, m recipe.Method) bool {
	at := slices.IndexFunc(frameworks(), func(f *framework) bool { return f.name == whose })
	f := frameworks()[at]
	return f.hooks.write != nil && strings.HasPrefix(m.Field, "correction") || slices.ContainsFunc(f.table.groups, func(g *group) bool {
		return slices.ContainsFunc(g.rows, func(r *row) bool {
			return slices.ContainsFunc(r.parts, func(p piece) bool { return p.name == m.Name })
		})
	})
}
