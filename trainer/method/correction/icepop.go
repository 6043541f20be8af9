package correction

import "driftlab/trainer/method"

// IcePop keeps tokens whose ratio lies in a band and drops the others from the
// loss, without touching its denominators.
//
//	w_t = ρ_t · 1[low ≤ ρ_t ≤ high]       (ratio, default)
//	w_t =       1[low ≤ ρ_t ≤ high]       (binary)
//
// Sources disagree: verl (threshold "0.5_5.0") and slime keep the ratio inside
// the band; secondary texts describe a pure 0/1 mask, and SkyRL's token mask,
// which edits the loss mask instead (see TokenMask), is one. Unlike truncation
// it drops both tails.
//
// Source: Ring-1T, arXiv 2510.18855; verl decoupled_token_icepop.
type IcePop struct {
	// Low is the lower bound α. Default 0.5.
	Low float64 `yaml:"low"`
	// High is the upper bound β. Default 5.
	High float64 `yaml:"high"`
	// Binary gives kept tokens the weight 1 in place of the ratio. Default false.
	Binary bool `yaml:"binary"`
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

// Validate checks the band; IcePop needs a positive lower bound.
func (m *IcePop) Validate() error { return checkBand(m.Low, m.High) }

func (m *IcePop) rule(in *Input) rule {
	if m.Binary {
		return rule{raw: in.exp("e"), applied: "inside(ρ, low, high)"}
	}
	return rule{raw: in.exp("e"), applied: "ρ·inside(ρ, low, high)"}
}
