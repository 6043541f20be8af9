package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// TokenMask drops tokens whose ratio leaves a band from the loss mask: IcePop as a mask,
// whose rejected tokens leave the default denominators too. SkyRL suggests 0.5 and 2 and
// needs both bounds set; slime's tis_mode mask uses 1/high for a missing low.
type TokenMask struct {
	// Low is the lower bound.
	Low float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

var tokenMaskSpec = method.Spec{
	Name: "token_mask", Aliases: []string{"icepop_mask"}, Unit: method.Token,
	Does:    "Removes tokens whose ratio old/mu leaves a band, from the loss and from its denominators.",
	When:    "Use it as the mask form of IcePop, if rejected tokens should not count in the average.",
	Source:  "SkyRL token_mask_is_threshold; slime mis.py; ROLL filters",
	Formula: "keep_t = 1[low ≤ ρ_t ≤ high]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Reject clears tokens outside the band.
func (m *TokenMask) Reject(keep []bool, in *Input) error {
	for n, counts := range in.Mask {
		if counts && !within(in.ratio(in.LogRatio[n]), m.Low, m.High) {
			keep[n] = false
		}
	}
	return nil
}

func (m *TokenMask) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("low", m.Low), trace.Given("high", m.High), trace.Formula("ρ", in.exp("e"))}, keep: "inside(ρ, low, high)"}
}
