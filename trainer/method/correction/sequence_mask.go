package correction

import "driftlab/trainer/method/trace"

// SequenceMask drops responses whose weight, the product of the ratios, leaves
// a band.
//
//	keep_i = 1[low ≤ exp(clamp(Σ_t e_t)) ≤ high]
//
// The product widens with length: acceptance falls off on long responses. A
// response without a counting token has the product 1.
//
// Source: SkyRL sequence_mask_metric product (0.5, 2); slime rs_level sequence.
// verl's seq_sum_k1 is the same on the inverse ratio.
type SequenceMask struct {
	// Low is the lower bound. Default 0.5.
	Low float64 `yaml:"low"`
	// High is the upper bound. Default 2.
	High float64 `yaml:"high"`
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

// Validate checks the band.
func (m *SequenceMask) Validate() error { return checkBand(m.Low, m.High) }

func (m *SequenceMask) rule(in *Input) rule {
	return rule{given: []trace.Term{given("low", m.Low), given("high", m.High)},
		terms: []trace.Term{formula("S", in.exp("Σ(e)"))}, keep: "inside(S, low, high)"}
}
