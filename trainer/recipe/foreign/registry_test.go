package foreign

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// methods are the methods of our registries, listed once.
var methods = sync.OnceValue(recipe.Methods)

// here reports whether this project has the name that stands for the framework's.
func here(c Counterpart) bool {
	switch c.Field {
	case "aggregation":
		return slices.Contains(loss.Aggregations(), c.Ours)
	case "preset":
		_, err := correction.LookupPreset(c.Ours)
		return err == nil
	case "metric":
		term, ok := metrics.Lookup(c.Ours)
		return ok && !slices.ContainsFunc(metrics.Elsewhere, func(t metrics.Term) bool {
			t.Name = term.Name // which may be a pattern
			return t == term
		})
	case "field":
		return recipe.LookUp(c.Ours) != nil
	}
	return slices.ContainsFunc(methods(), func(m recipe.Method) bool {
		return m.Field == c.Field && (m.Name == c.Ours || m.Name != "" && c.Relation() == "have" && slices.Contains(m.Aliases, c.Ours))
	})
}

// Every name in a framework's registry exists here, or there is a reason why not; no name has two lines of one kind
// and source, and what the readers translate is what the registries say.
func TestRegistries(t *testing.T) {
	kinds := []string{"loss", "advantage", "kl", "aggregation", "correction", "reward", "schedule", "metric"}
	for _, r := range Registries() {
		of := map[string]int{}
		seen := map[[3]string]bool{}
		for _, c := range r.Has {
			of[c.Kind]++
			if c.Ours != "" && !here(c) {
				t.Errorf("%s: %s %s: there is no %s:%s", r.Framework, c.Kind, c.Theirs, c.Field, c.Ours)
			}
			if c.Ours == "" && c.Note == "" || !slices.Contains(kinds, c.Kind) {
				t.Errorf("%s: %s %s has neither a name here nor a reason, or no known kind", r.Framework, c.Kind, c.Theirs)
			}
			key := [3]string{c.Kind, c.Theirs, c.Source}
			if seen[key] {
				t.Errorf("%s: %s %s stands there twice", r.Framework, c.Kind, c.Theirs)
			}
			seen[key] = true
		}
		for _, kind := range []string{"loss", "advantage", "schedule"} {
			if of[kind] == 0 {
				t.Errorf("%s: nothing of the kind %s", r.Framework, kind)
			}
		}
		at := slices.IndexFunc(frameworks(), func(f *framework) bool { return f.name == r.Framework })
		if at < 0 || r.Framework == "rllm" || r.Framework == "ms-swift" { // of its backend, and TRL's
			continue
		}
		for _, g := range frameworks()[at].table.groups {
			if g.choose == nil || !regexp.MustCompile(`estimator|algo\.type|loss_type|loss_mode|loss_agg|reduction|variant|loss_fn$|\.name$|^type$`).MatchString(g.choose[0]) || !slices.Contains([]string{"loss", "advantage", "aggregation"}, g.part) {
				continue
			}
			for _, row := range g.rows {
				if row.verdict != "" || row.written || row.conds == nil || row.conds[0].values == nil || !slices.Equal(row.conds[0].keys, g.choose) {
					continue
				}
				ours := row.parts[0].name
				for _, theirs := range row.conds[0].values {
					found := slices.ContainsFunc(r.Has, func(c Counterpart) bool {
						return strings.HasPrefix(c.Theirs, theirs) && (c.Ours == ours || (c.Kind == "loss" || c.Field == "loss") && g.part == "advantage" || c.Field == "field" || c.Field == "advantage" || g.part == "loss" && strings.HasPrefix(c.Ours, ours) || len(row.conds) > 1)
					})
					if !found {
						t.Errorf("%s: its reader takes %s %s for %s, which its registry does not say", r.Framework, g.part, theirs, ours)
					}
				}
			}
		}
	}
	for _, name := range Frameworks() {
		if !slices.ContainsFunc(Registries(), func(r Registry) bool { return r.Framework == name }) {
			t.Errorf("%s has no registry", name)
		}
	}
}
