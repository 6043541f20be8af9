package main

import (
	"bytes"
	"strings"
	"testing"

	"driftlab/trainer/recipe/foreign"
)

// TestMethodsAnswersFrameworkNames: every name on the page of a framework, and every term with its aliases, has an answer.
func TestMethodsAnswersFrameworkNames(t *testing.T) {
	ask := func(name string) string {
		var out, failed bytes.Buffer
		if run([]string{"methods", name}, &out, &failed) != 0 {
			t.Errorf("methods %s: %s", name, failed.String())
		}
		return out.String()
	}
	for _, x := range terms() {
		for _, name := range append(x.Aliases, x.Name) {
			if text := ask(name); strings.TrimSpace(text) == "" {
				t.Errorf("methods %s: nothing", name)
			}
		}
	}
	for name, want := range map[string]string{
		"token-mean": "M must be the tokens of the whole step", "SEQ_MEAN_TOKEN_SUM_NORM": "Σ_it loss_it / (N·H)", "aggregation": "Micro-batches",
		"best@k": "(1-1/k)^k", "binary_kl": "Bernoulli", "k3+": "k3+", "kpop": "statistic binary_kl",
	} {
		if text := ask(name); !strings.Contains(text, want) {
			t.Errorf("methods %s lacks %q:\n%s", name, want, text)
		}
	}
	asked := map[string]bool{}
	for _, r := range foreign.Registries() {
		for i, x := range r.Has {
			if (*exhaustive || i == 0) && !asked[x.Theirs] {
				asked[x.Theirs] = true
				ask(x.Theirs)
			}
		}
	}
}
