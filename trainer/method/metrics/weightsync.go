package metrics

import "driftlab/trainer/method/batch"

// weightSync appends how far the weights that sampled are behind the version that is
// recorded.
func weightSync(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	oldest, old, tokens := 0, 0, 0
	for n, own := range b.Mask {
		if !own {
			continue
		}
		tokens++
		if age := int(b.Version[n] - b.ActualVersion[n]); age > 0 {
			oldest, old = max(oldest, age), old+1
		}
	}
	return append(dst,
		batch.Metric{Name: "weight_sync/missed_tokens", Value: float64(old) / float64(max(tokens, 1))},
		batch.Metric{Name: "weight_sync/max_age", Value: float64(oldest)})
}
