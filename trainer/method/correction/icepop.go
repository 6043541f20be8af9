package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// IcePop keeps tokens whose ratio lies in a band and drops the others from the
// loss, without touching its denominators. Unlike truncation it drops both tails.
//
// Sources disagree: verl (threshold "0.5_5.0") and slime keep the ratio inside
// the band; secondary texts describe a pure 0/1 mask (binary), and SkyRL's token mask,
// which edits the loss mask instead (see TokenMask), is one.
type IcePop struct {
	// Low is the lower bound α.
	Low float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	// High is the upper bound β.
	High float64 `yaml:"high" default:"5" range:"(0,inf]"`
	// Binary gives kept tokens the weight 1 in place of the ratio.
	Binary bool `yaml:"binary"`
}

var icepopSpec = method.Spec{
	Name: "icepop", Unit: method.Token,
	Does:    "Weights a token by its ratio old/mu inside a band on both sides of 1 and by 0 outside; denominators do not change.",
	When:    "Use it for mixture-of-experts models, where a few tokens have extreme ratios in both directions.",
	Source:  "Ring-1T, arXiv 2510.18855; verl decoupled_token_icepop; slime icepop_function",
	Formula: "w_t = ρ_t·1[low ≤ ρ_t ≤ high]; binary: w_t = 1[low ≤ ρ_t ≤ high]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Weigh fills one weight per token.
func (m *IcePop) Weigh(w *Weights, in *Input) error {
	for n, counts := range in.Mask {
		if !counts {
			continue
		}
		r := in.ratio(in.LogRatio[n])
		kept := inside(r, m.Low, m.High)
		if m.Binary && kept > 0 {
			kept = 1
		}
		w.Raw[n], w.Applied[n] = r, kept
	}
	return nil
}

// Level is token.
func (*IcePop) Level() method.Unit { return method.Token }

// Bounds are low and high.
func (m *IcePop) Bounds() (low, high float64) { return m.Low, m.High }

func (m *IcePop) rule(in *Input) rule {
	if m.Binary {
		return rule{raw: in.exp("e"), applied: "inside(ρ, low, high)"}
	}
	return rule{raw: in.exp("e"), applied: "ρ·inside(ρ, low, high)"}
}
