package recipe

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/inert.txt
var inertText string

// TestInert names what cannot act, and nothing that can.
func TestInert(t *testing.T) {
	for line := range strings.Lines(inertText) {
		changes, want, found := strings.Cut(strings.TrimSpace(line), "=>")
		if !found || strings.HasPrefix(line, "#") {
			continue
		}
		sets := []string{"rollout.numerics=fp32", "learner.numerics=fp32"}
		for set := range strings.SplitSeq(changes, ";") {
			if set = strings.TrimSpace(set); set != "" {
				sets = append(sets, set)
			}
		}
		var fields []string
		for _, note := range loaded(t, "default", sets...).Resolved().Inert() {
			field, _, _ := strings.Cut(note, " ")
			fields = append(fields, strings.TrimSuffix(field, ":"))
		}
		if got := strings.Join(fields, " "); got != strings.TrimSpace(want) {
			t.Errorf("%v: %q cannot act, want %q", sets, got, want)
		}
	}
}
