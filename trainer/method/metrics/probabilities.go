package metrics

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// probabilities appends verl's calculate_debug_metrics: the difference of the
// sampled tokens' probabilities in the two engines. Below one token, or two for
// deviation and correlation, verl's figures are NaN, and so are these.
func probabilities(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	var p pair
	for n, counts := range b.Mask {
		if counts {
			p.add(elementary.Exp(b.LogpRoll[n]), elementary.Exp(b.Old.Logp[n]))
		}
	}
	valid, mean, largest, deviation := 1.0, p.difference.Mean, p.difference.Largest, p.difference.Deviation()
	if p.x.N == 0 {
		valid, mean, largest = 0, math.NaN(), math.NaN()
	}
	if p.x.N < 2 {
		deviation = math.NaN()
	}
	return append(dst,
		batch.Metric{Name: "training/rollout_probs_diff_valid", Value: valid},
		batch.Metric{Name: "training/rollout_probs_diff_max", Value: largest},
		batch.Metric{Name: "training/rollout_probs_diff_mean", Value: mean},
		batch.Metric{Name: "training/rollout_probs_diff_std", Value: deviation},
		batch.Metric{Name: "training/rollout_actor_probs_pearson_corr", Value: p.pearson()})
}
