package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// SequenceMask drops responses whose weight, the product of the ratios, leaves
// a band.
//
// The product widens with length: acceptance is low on long responses. A
// response without a counting token has the product 1. verl's seq_sum_k1 is the same on the
// inverse ratio.
type SequenceMask struct {
	// Low is the lower bound.
	Low float64 `yaml:"low" default:"0.5" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"2" range:"(0,inf]"`
}

var sequenceMaskSpec = method.Spec{
	Name: "sequence_mask", Aliases: []string{"product"}, Unit: method.Sequence,
	Does:    "Drops responses whose product of token ratios leaves a band.",
	When:    "Use it for short responses; the product spreads with length, so that long responses are rejected more often.",
	Source:  "SkyRL sequence_mask_metric product; slime rs_level sequence",
	Formula: "keep_i = 1[low ≤ exp(clamp(Σ_t (old_t − roll_t), ±20)) ≤ high]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor},
}

// Reject clears responses outside the band.
func (m *SequenceMask) Reject(keep []bool, in *Input) error {
	for i := range in.Len() {
		from, to := in.Span(i)
		sum, _ := in.spanSum(from, to)
		if !within(in.ratio(sum), m.Low, m.High) {
			reject(keep, in, from, to)
		}
	}
	return nil
}

func (m *SequenceMask) rule(in *Input) rule {
	return rule{lines: []trace.Line{trace.Given("low", m.Low), trace.Given("high", m.High), trace.Formula("S", in.exp("Σ(e)"))}, keep: "inside(S, low, high)"}
}
