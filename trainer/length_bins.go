package trainer

import (
	"fmt"

	"driftlab/trainer/method/batch"
)

// lengthBins is how many equal parts of the length limit responses are sorted into.
const lengthBins = 8

// lengthBin is the part that a response of so many tokens belongs to: the first ends
// with an eighth of the limit.
func lengthBin(tokens, limit int) int {
	return min(max(tokens-1, 0)*lengthBins/limit, lengthBins-1)
}

// byLength appends the share of responses of each length, by the upper end of its
// part, and the pass rate of those, where there are any.
func (r *Evaluation) byLength(metrics []batch.Metric, limit int) []batch.Metric {
	all := 0
	for _, t := range r.Lengths {
		all += t.Samples
	}
	for k, t := range r.Lengths {
		upTo := limit * (k + 1) / lengthBins
		metrics = append(metrics, batch.Metric{Name: fmt.Sprintf("val/learner/share_of_length/%d", upTo), Value: float64(t.Samples) / float64(all)})
		if t.Samples > 0 {
			metrics = append(metrics, batch.Metric{Name: fmt.Sprintf("val/learner/pass_rate_of_length/%d", upTo), Value: float64(t.Correct) / float64(t.Samples)})
		}
	}
	return metrics
}
