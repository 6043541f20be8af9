package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// TokenMIS is token-level masked importance sampling: the raw ratio inside the
// band, nothing outside. The rejected tokens stay in the loss's denominators; for slime's
// way put a token_mask next to token_tis with an infinite cap.
type TokenMIS struct {
	// Low is the lower bound, 0 for the one-sided form.
	Low float64 `yaml:"low" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

var tokenMisSpec = method.Spec{
	Name: "token_mis", Unit: method.Token,
	Does:    "Weights a token by its ratio old/mu inside the bounds and by 0 outside: token-level masked importance sampling (MIS).",
	When:    "Use it in place of token_tis if tokens with extreme ratios should have no gradient.",
	Source:  "slime mis.py; two-sided it is IcePop (arXiv 2510.18855)",
	Formula: "w_t = ρ_t·1[low ≤ ρ_t ≤ high]; low 0 is the one-sided form",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Weigh fills one weight per token.
func (m *TokenMIS) Weigh(w *Weights, in *Input) error {
	for n, counts := range in.Mask {
		if counts {
			r := in.ratio(in.LogRatio[n])
			w.Raw[n], w.Applied[n] = r, inside(r, m.Low, m.High)
		}
	}
	return nil
}

// Level is token.
func (*TokenMIS) Level() method.Unit { return method.Token }

// Bounds are low and high.
func (m *TokenMIS) Bounds() (low, high float64) { return m.Low, m.High }

func (*TokenMIS) rule(in *Input) rule {
	return rule{raw: in.exp("e"), applied: "ρ·inside(ρ, low, high)"}
}
