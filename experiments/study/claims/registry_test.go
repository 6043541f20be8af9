package claims

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"driftlab/experiments/studies"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/results/stability"

	"go.yaml.in/yaml/v4"
)

// TestClaimsAreComplete checks that every claim says what a reader needs.
func TestClaimsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(c.ID) || seen[c.ID] {
			t.Errorf("claim id %q is malformed or taken", c.ID)
		}
		seen[c.ID] = true
		for name, text := range map[string]string{"Title": c.Title, "Statement": c.Statement, "Source": c.Source,
			"Figure": c.Figure, "Threshold": c.Threshold, "Setup": c.Setup} {
			if text == "" {
				t.Errorf("%s: no %s", c.ID, name)
			}
		}
		switch d := c.Declared; d.When {
		case claim.Before:
			if d.Date+d.Check+string(d.Verdict)+d.Again != "" {
				t.Errorf("%s: declared before any result, and has a first version", c.ID)
			}
		case claim.Revised:
			if _, err := time.Parse(time.DateOnly, d.Date); err != nil || d.Check == "" || !slices.Contains(judge.Verdicts, d.Verdict) {
				t.Errorf("%s: revised without date, check or verdict of its first version: %+v", c.ID, d)
			}
		default:
			t.Errorf("%s: does not say whether its primary check was declared before any result", c.ID)
		}
		if c.Unit == "" || c.Theme == "" {
			t.Errorf("%s: unit %q, theme %q", c.ID, c.Unit, c.Theme)
		}
		if c.Version < 1 || c.Measure == nil || c.Judge == nil {
			t.Errorf("%s: version %d, measure or judge missing", c.ID, c.Version)
		}
		if c.Unit == claim.Run && len(c.Rates) == 0 {
			t.Errorf("%s: trains, and names no learning rate", c.ID)
		}
		answered := slices.ContainsFunc(c.Ladder, func(l claim.Ladder) bool { return l.Part == "" && stability.Published().Study(l.Study) != nil })
		if answered != strings.Contains(strings.Join(strings.Fields(c.Title), " "), "each at its own best") {
			t.Errorf("%s: a published study over a ladder of learning rates answers it: %v, and its title is %q", c.ID, answered, c.Title)
		}
		if len(c.Rates) == 1 && !c.Frozen && !answered && !strings.Contains(c.Title, c.Rates[0]) {
			t.Errorf("%s: is judged at the learning rate %s, which is not in its title", c.ID, c.Rates[0])
		}
		for _, l := range c.Ladder {
			var plan struct {
				Judge []struct {
					Name string
					Arms []string
				}
			}
			text, ok := studies.Plan("stability/" + l.Study)
			if err := yaml.Load(text, &plan); !ok || err != nil {
				t.Fatalf("%s: no study stability/%s (%v)", c.ID, l.Study, err)
			}
			found := false
			for _, check := range plan.Judge {
				found = found || check.Name == l.Check && (l.Arm == "" || slices.Contains(check.Arms, l.Arm))
			}
			if !found {
				t.Errorf("%s: stability/%s declares no check %q of %q", c.ID, l.Study, l.Check, l.Arm)
			}
		}
		if got, ok := Lookup(c.ID); !ok || got.Title != c.Title {
			t.Errorf("Lookup(%q) does not find it", c.ID)
		}
	}
}
