package table_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/table"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// screened are the fields whose methods are corrections, losses and what else the
// screen is about.
var screened = []string{"advantage", "correction.weights", "correction.masks", "loss", "terms", "kl", "guards", "routing.replay", "routing.gates"}

// Every registered method of these kinds stands in the screen, or in the list of those
// that cannot act there; none stands in both, and the list names no other.
func TestScreenIsComplete(t *testing.T) {
	text, _ := table.Text("screen")
	left := slices.Clone(table.Unscreened)
	for _, m := range recipe.Methods() {
		if !slices.Contains(screened, m.Field) {
			continue
		}
		in := named(string(text), m.Field, append(m.Aliases, m.Name))
		at := slices.IndexFunc(left, func(r table.Reason) bool { return r.Field == m.Field && r.Method == m.Name })
		switch {
		case in && at >= 0:
			t.Errorf("%s %s stands in the screen and among those left out of it", m.Field, m.Name)
		case !in && at < 0:
			t.Errorf("%s %s: no value of the screen's factor method has it, and no reason why", m.Field, m.Name)
		}
		if at >= 0 {
			if len(left[at].Why) < 10 {
				t.Errorf("%s %s: the reason %q says nothing", m.Field, m.Name, left[at].Why)
			}
			left = slices.Delete(left, at, at+1)
		}
	}
	for _, r := range left {
		t.Errorf("%s has no method %s, which is said to be left out", r.Field, r.Method)
	}
}

// named reports whether a value of the method factor sets the field to one of the names.
func named(file, field string, names []string) bool {
	section := field[strings.LastIndexByte(field, '.')+1:]
	for _, name := range names {
		at := regexp.MustCompile(`^ +- \{name: .*\b` + section + `: (\[?\{name: )?` + regexp.QuoteMeta(name) + `[,}]`)
		for line := range strings.Lines(file) {
			if at.MatchString(line) {
				return true
			}
		}
	}
	return false
}

// A loss that reads no advantage escapes stressors that leave the negative ones, and so does
// an advantage without any: the sweeps say so of each, and of no other.
func TestEscapes(t *testing.T) {
	escapes := map[string]bool{"advantage reinforce": true} // rewards of 0 and 1 without a baseline
	for _, m := range recipe.Methods() {
		if m.Field == "loss" && !slices.Contains(m.Needs, batch.Advantage) {
			escapes["loss "+m.Name] = true
		}
	}
	method := regexp.MustCompile(`(loss|advantage): \{name: ([a-z0-9_]+)`)
	for _, name := range table.Names() {
		text, _ := table.Text(name)
		for line := range strings.Lines(string(text)) {
			m := method.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if says := strings.Contains(line, "escapes: negatives"); says != escapes[m[1]+" "+m[2]] {
				t.Errorf("%s: %s %s: escapes: negatives is %v, want %v", name, m[1], m[2], says, !says)
			}
		}
	}
}
