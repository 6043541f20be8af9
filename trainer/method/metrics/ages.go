package metrics

import "driftlab/trainer/method/batch"

// Ages appends how old a batch of several versions is, in updates: its generated
// tokens, its groups by their oldest token, and the shares of its responses with
// tokens of several versions and of its tokens that saw keys of older ones.
func Ages(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	tokens, sum, most, mixed, stale := 0, 0, 0, 0, 0
	oldest := map[int]int{} // by group
	for i := range b.Len() {
		from, to := b.Span(i)
		first, several := -1, false
		for n := from; n < to; n++ {
			if !b.Mask[n] {
				continue
			}
			age := b.LearnerVersion - int(b.Version[n])
			tokens, sum, most = tokens+1, sum+age, max(most, age)
			if b.Stale != nil && b.Stale[n] {
				stale++
			}
			if first < 0 {
				first = age
			}
			several = several || age != first
			oldest[b.Group[i]] = max(oldest[b.Group[i]], age)
		}
		if several {
			mixed++
		}
	}
	groups := 0
	for _, age := range oldest {
		groups += age // integers: in any order
	}
	return append(dst,
		batch.Metric{Name: "staleness/tokens/mean", Value: float64(sum) / float64(max(tokens, 1))},
		batch.Metric{Name: "staleness/tokens/max", Value: float64(most)},
		batch.Metric{Name: "staleness/samples/mean", Value: float64(groups) / float64(max(len(oldest), 1))},
		batch.Metric{Name: "staleness/mixed_responses", Value: float64(mixed) / float64(max(b.Len(), 1))},
		batch.Metric{Name: "staleness/stale_keys", Value: float64(stale) / float64(max(tokens, 1))})
}
