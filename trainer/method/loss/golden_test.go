package loss

import (
	"fmt"
	"slices"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/golden"
)

// TestGolden compares the package with what the reference implementations compute.
func TestGolden(t *testing.T) {
	golden.Run(t, "trainer/method/loss", goldenMatchers(), goldenListings)
}

func goldenMatchers() []golden.Matcher {
	return slices.Concat(verlMatchers, paperMatchers, primeMatchers, skyrlMatchers, peerMatchers, trlMatchers, swiftMatchers, openInstructMatchers, autumnMatchers)
}

// evaluate runs a loss on a case's batch and reports errors as failures.
func evaluate(k *golden.Check, l Loss, b *batch.Batch) *Grad {
	out := &Grad{}
	if err := method.Check(l); err != nil {
		k.Fail("Check: %v", err)
	}
	if err := l.Eval(out, b); err != nil {
		k.Fail("Eval: %v", err)
	}
	return out
}

// metrics compares every metric of the case that the loss logged.
func metrics(c *golden.Case, k *golden.Check, out *Grad) {
	for name := range c.Outputs.Sub("metrics") {
		if value, ok := out.Metric(name); ok {
			k.Metric("metrics", name, value)
		}
	}
}

// parseEstimator reads an estimator by any of verl's names.
func parseEstimator(name string) (Estimator, error) {
	base, plus := name, ""
	if n := len(name); n > 1 && name[n-1] == '+' {
		base, plus = name[:n-1], "+"
	}
	switch base {
	case "k1", "kl":
		return K1 + Estimator(plus), nil
	case "abs":
		return Abs + Estimator(plus), nil
	case "k2", "mse":
		return K2 + Estimator(plus), nil
	case "k3", "low_var_kl":
		return K3 + Estimator(plus), nil
	}
	return "", fmt.Errorf("unknown KL estimator %q (known: k1, abs, k2, k3, each with or without +)", name)
}
