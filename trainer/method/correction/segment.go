package correction

import "driftlab/trainer/method/batch"

// Segmentation says what a segment of a response is.
type Segmentation string

// The segmentations.
const (
	// ByRun makes every contiguous run of generated tokens a segment (ROLL).
	ByRun Segmentation = "run"
	// ByTurn makes every value of Batch.Turn a segment.
	ByTurn Segmentation = "turn"
)

// require checks that the column the segmentation reads has been recorded.
func (s Segmentation) require(in *Input) error {
	if s == ByTurn {
		return in.Require(batch.Turn)
	}
	return nil
}

// next returns the end of the segment that starts at n, below the end of the
// response, to. Runs end where in.Batch.Mask does, also at tokens that a
// sequential pipeline has rejected meanwhile.
func (s Segmentation) next(in *Input, n, to int) int {
	end := n + 1
	for end < to {
		if s == ByTurn && in.Turn[end] != in.Turn[n] {
			break
		}
		if s == ByRun && in.Batch.Mask[end] != in.Batch.Mask[n] {
			break
		}
		end++
	}
	return end
}
