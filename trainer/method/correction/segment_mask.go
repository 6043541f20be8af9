package correction

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/trace"
)

// SegmentMask drops segments, turns or runs of generated tokens, whose
// geometric mean ratio leaves a band.
//
//	keep_k = 1[low ≤ exp(clamp(mean_{t∈k} e_t)) ≤ high]
//
// Source: ROLL filters (agg_type: segment).
type SegmentMask struct {
	// Low is the lower bound. Default 0.8 (ROLL's example).
	Low float64 `yaml:"low"`
	// High is the upper bound. Default 1.2.
	High float64 `yaml:"high"`
	// By says what a segment is: run or turn. Default turn.
	By Segmentation `yaml:"by"`
}

// Reject clears segments outside the band.
func (m *SegmentMask) Reject(keep []bool, in *Input) error {
	if err := m.By.require(in); err != nil {
		return err
	}
	for i := range in.Len() {
		from, to := in.Span(i)
		for from < to {
			end := m.By.next(in, from, to)
			sum, count := in.spanSum(from, end)
			if !within(elementary.Exp(in.clamp(sum/float64(max(count, 1)))), m.Low, m.High) {
				reject(keep, in, from, end)
			}
			from = end
		}
	}
	return nil
}

// Validate checks the band and the segmentation.
func (m *SegmentMask) Validate() error {
	if err := m.By.validate(); err != nil {
		return err
	}
	return checkBand(m.Low, m.High)
}

func (m *SegmentMask) rule(in *Input) rule {
	r := rule{given: []trace.Term{given("low", m.Low), given("high", m.High)}}
	if m.By == ByTurn { // a run is no column
		r.terms, r.keep = []trace.Term{formula("S", in.exp("mean_turn(e)"))}, "inside(S, low, high)"
	}
	return r
}
