package recipe

import (
	_ "embed"
	"strings"
	"testing"
)

//go:embed testdata/counted_twice.txt
var countedTwice string

// A weight that the loss contains already is refused, and a policy-gradient
// preset with a loss that has a ratio; what verl does is accepted.
func TestCountedTwice(t *testing.T) {
	for line := range strings.Lines(countedTwice) {
		text, fault, found := strings.Cut(strings.TrimSpace(line), "=>")
		if fault = strings.TrimSpace(fault); !found || strings.HasPrefix(line, "#") {
			continue
		}
		text = strings.ReplaceAll(text, "; ", "\n")
		_, err := Parse("recipe.yaml", []byte(text+"\n"))
		switch {
		case fault == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case fault != "" && (err == nil || !strings.Contains(err.Error(), fault)):
			t.Errorf("%q: %v, want %q", text, err, fault)
		}
	}
}
