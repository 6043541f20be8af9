package loss

import (
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
	return slices.Concat(verlMatchers, paperMatchers, primeMatchers, skyrlMatchers, peerMatchers, trlMatchers)
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
