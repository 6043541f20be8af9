package metrics

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Replayed appends what replay adds to a batch: the responses from first on were
// trained before. The effective sample size of their ratios of pi_old to mu falls
// with age as the priorities suppose, exp(-age/tau), if tau is well chosen: the tau
// that it would have is reported next to it.
func Replayed(dst []batch.Metric, b *batch.Batch, first int, weights []float64) []batch.Metric {
	add := func(name string, value float64) { dst = append(dst, batch.Metric{Name: name, Value: value}) }
	tokens, again, age := 0, 0, 0.0
	ratio, square, weight := 0.0, 0.0, 0.0
	for i := range b.Len() {
		sum := 0.0
		for n := range b.Where(i, b.Mask) {
			tokens++
			if i >= first {
				again++
				age += float64(b.LearnerVersion - int(b.Version[n]))
				sum += b.Old.Logp[n] - b.LogpRoll[n]
			}
		}
		if i >= first {
			w := elementary.Exp(min(max(sum, -20), 20))
			ratio, square, weight = ratio+w, square+float64(w*w), weight+weights[i]
		}
	}
	add("replay/share", float64(again)/float64(max(tokens, 1)))
	if again == 0 {
		return dst
	}
	n := float64(b.Len() - first)
	age /= float64(again)
	ess := float64(ratio*ratio) / square / n
	add("replay/age", age)
	add("replay/weight", weight/n)
	add("replay/ess", ess)
	if ess < 1 && age > 0 {
		add("replay/tau_of_ess", -age/elementary.Log(ess))
	}
	return dst
}

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
