package correction

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// SegmentMask drops segments, turns or runs of generated tokens, whose
// geometric mean ratio leaves a band.
type SegmentMask struct {
	// Low is the lower bound; 0.8 and 1.2 are ROLL's example.
	Low float64 `yaml:"low" default:"0.8" range:"[0,high]"`
	// High is the upper bound.
	High float64 `yaml:"high" default:"1.2" range:"(0,inf]"`
	// By says what a segment is: run or turn.
	By Segmentation `yaml:"by" default:"turn" oneof:"run turn"`
}

var segmentMaskSpec = method.Spec{
	Name: "segment_mask", Aliases: []string{"turn_mask"}, Unit: method.Turn,
	Does:    "Drops turns or segments whose geometric mean ratio leaves a band.",
	When:    "Use it in multi-turn runs, to reject a turn and keep the rest of the response.",
	Source:  "ROLL filters agg_type segment",
	Formula: "keep_k = 1[low ≤ exp(mean_{t∈k}(old_t − roll_t)) ≤ high]",
	Needs:   batch.Columns{batch.LogpRoll, batch.Anchor, batch.Turn},
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

func (m *SegmentMask) rule(in *Input) rule {
	r := rule{lines: []trace.Line{trace.Given("low", m.Low), trace.Given("high", m.High)}}
	if m.By == ByTurn { // a run is no column
		r.lines, r.keep = append(r.lines, trace.Formula("S", in.exp("mean_turn(e)"))), "inside(S, low, high)"
	}
	return r
}
