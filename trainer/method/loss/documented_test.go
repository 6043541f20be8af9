package loss

import (
	"strings"
	"testing"

	"driftlab/trainer/method"
)

// TestDocumentedFormulas: a formula that can be evaluated has the values that the loss
// computes. The page of the others shows the computed ones.
func TestDocumentedFormulas(t *testing.T) {
	evaluated := 0
	for _, e := range Registry {
		l := e.New()
		told, _, err := Explain(l, Worked(l))
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		checked, _, err := CheckFormula(l, e.Formula, told)
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
		if checked {
			evaluated++
		}
	}
	if evaluated < 8 {
		t.Errorf("%d formulas are evaluated", evaluated)
	}
}

// TestWrongFormulaIsNoticed: other signs, other columns, other bounds than the loss's.
func TestWrongFormulaIsNoticed(t *testing.T) {
	ppo := method.New[PPOClip]()
	ppo.DualClip = 0
	for _, c := range []struct {
		l       Loss
		formula string
		want    string // of the error, or of what cannot be evaluated after "not: "
	}{
		{ppo, "L = max(-A·r, -A·clip(r, 1-ε_low, 1+ε_high)), r = exp(lr)", ""},
		{ppo, "L = max(-A·r, -A·clip(r, 1-ε_low, 1+ε_high)), r = exp(logp - old)", ""},
		{ppo, "L = max(A·r, -A·clip(r, 1-ε_low, 1+ε_high)), r = exp(lr)", "is 1.2214 at token 1 of response 1, and the loss computes -1.2"},
		{ppo, "L = max(-A·r, -A·clip(r, 1-ε_high, 1+2·ε_high)), r = exp(lr)", "the loss computes"},
		{ppo, "L = -A·r, r = exp(logp - roll)", "not: no term roll"},
		{ppo, "L = -A·r, r = exp(r)", "not: r is defined by itself"},
		{ppo, "loss = -A", "not: is not a name"},
		{ppo, "L = -A·mean(lr)", "not: takes other tokens in"},
		{method.New[RolloutIS](), "L = -sg[r·1[1-ε_low < r < 1+ε_high]]·A·logp, r = exp(logp-roll)", ""},
		{method.New[RolloutIS](), "L = -sg[r·1[r > 1+ε_high]]·A·logp, r = exp(logp-roll)", "the loss computes"},
		{method.New[GPG](), "L = -A·logp", ""}, {method.New[GPG](), "L = -A·tanh(logp)", "the loss computes"},
	} {
		told, _, err := Explain(c.l, Worked(c.l))
		if err != nil {
			t.Fatal(err)
		}
		checked, why, err := CheckFormula(c.l, c.formula, told)
		not, unevaluated := strings.CutPrefix(c.want, "not: ")
		switch {
		case unevaluated && (checked || err != nil || !strings.Contains(why, not)),
			!unevaluated && (!checked || why != "" || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: checked %v, %q, %v; want %q", c.formula, checked, why, err, c.want)
		}
	}
}
