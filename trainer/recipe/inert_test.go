package recipe

import (
	"iter"
	"os"
	"strings"
	"testing"
)

// changes are the lines "change; change => text" of a file, those with # left out.
func changes(t *testing.T, file string) iter.Seq2[[]string, string] {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	return func(yield func([]string, string) bool) {
		for line := range strings.Lines(string(text)) {
			list, want, found := strings.Cut(strings.TrimSpace(line), "=>")
			if !found || strings.HasPrefix(line, "#") {
				continue
			}
			var sets []string
			for set := range strings.SplitSeq(list, ";") {
				if set = strings.TrimSpace(set); set != "" {
					sets = append(sets, set)
				}
			}
			if !yield(sets, strings.TrimSpace(want)) {
				return
			}
		}
	}
}

// TestInert names what cannot act, and nothing that can.
func TestInert(t *testing.T) {
	for sets, want := range changes(t, "testdata/inert.txt") {
		var fields []string
		for _, note := range loaded(t, "default", append([]string{"rollout.numerics=fp32", "learner.numerics=fp32"}, sets...)...).Resolved().Inert() {
			field, _, _ := strings.Cut(note, " ")
			fields = append(fields, strings.TrimSuffix(field, ":"))
		}
		if got := strings.Join(fields, " "); got != want {
			t.Errorf("%v: %q cannot act, want %q", sets, got, want)
		}
	}
}

// TestRefused refuses what does not go together in a line that names the place.
func TestRefused(t *testing.T) {
	for sets, want := range changes(t, "testdata/refused.txt") {
		r, err := Load("default", sets...)
		if err == nil {
			err = r.Validate()
		}
		if (want == "") != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v: %v, want %q", sets, err, want)
		}
	}
}

// A weight that the loss contains already is refused, and a policy-gradient
// preset with a loss that has a ratio; what verl does is accepted.
func TestCountedTwice(t *testing.T) {
	for sections, want := range changes(t, "testdata/counted_twice.txt") {
		_, err := Parse("recipe.yaml", []byte(strings.Join(sections, "\n")+"\n"))
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", sections, err, want)
		}
	}
}
