package metrics

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// Replayed appends what replay adds to a batch: the responses from first on were
// trained before. The effective sample size of their ratios of pi_old to mu falls
// with age as the priorities suppose, exp(-age/tau), if tau is well chosen: the tau
// that it would have is reported beside it.
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
