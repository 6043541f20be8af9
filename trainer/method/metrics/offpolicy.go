package metrics

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// OffPolicy appends verl's compute_offpolicy_metrics of LogpOld against
// LogpRoll, with verl's conventions: a mean over n tokens divides by n + 1e-8,
// and an empty response counts with perplexity 1. Without LogpRoll it appends
// the two figures of the learner alone.
func OffPolicy(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	logp := b.Old.Logp
	var train, roll, trainLog, rollLog, difference, absolute, ratio, chi2Seq float64
	largest, smallest := math.Inf(-1), math.Inf(1)
	recorded := len(b.LogpRoll) == b.Tokens()
	rows := float64(max(b.Len(), 1))
	for i := range b.Len() {
		from, to := b.Span(i)
		mask := b.Mask[from:to]
		t := masked.Mean(logp[from:to], mask)
		train, trainLog = train+elementary.Exp(-t), trainLog-t
		if !recorded {
			continue
		}
		r := masked.Mean(b.LogpRoll[from:to], mask)
		roll, rollLog = roll+elementary.Exp(-r), rollLog-r
		d := r - t
		difference, absolute, ratio = difference+d, absolute+math.Abs(d), ratio+elementary.Exp(d)
		largest, smallest = max(largest, d), min(smallest, d)
		sum := 0.0
		for n := range b.Where(i, b.Mask) {
			sum += logp[n] - b.LogpRoll[n]
		}
		chi2Seq += elementary.Exp(2 * min(max(sum, -clampLogRatio), clampLogRatio))
	}
	dst = append(dst,
		batch.Metric{Name: "rollout_corr/training_ppl", Value: train / rows},
		batch.Metric{Name: "rollout_corr/training_log_ppl", Value: trainLog / rows})
	if !recorded {
		return dst
	}
	if b.Len() == 0 {
		largest, smallest = 0, 0
	}
	kl, k3Sum, squares, count := 0.0, 0.0, 0.0, 0.0
	for n := range masked.Kept(b.Mask) {
		e := logp[n] - b.LogpRoll[n]
		kl -= e
		k3Sum += k3(e)
		squares += elementary.Exp(2 * min(max(e, -clampLogRatio), clampLogRatio))
		count++
	}
	count += masked.Epsilon
	return append(dst,
		batch.Metric{Name: "rollout_corr/kl", Value: kl / count},
		batch.Metric{Name: "rollout_corr/k3_kl", Value: k3Sum / count},
		batch.Metric{Name: "rollout_corr/rollout_ppl", Value: roll / rows},
		batch.Metric{Name: "rollout_corr/rollout_log_ppl", Value: rollLog / rows},
		batch.Metric{Name: "rollout_corr/log_ppl_diff", Value: difference / rows},
		batch.Metric{Name: "rollout_corr/log_ppl_abs_diff", Value: absolute / rows},
		batch.Metric{Name: "rollout_corr/log_ppl_diff_max", Value: largest},
		batch.Metric{Name: "rollout_corr/log_ppl_diff_min", Value: smallest},
		batch.Metric{Name: "rollout_corr/ppl_ratio", Value: ratio / rows},
		batch.Metric{Name: "rollout_corr/chi2_token", Value: squares/count - 1},
		batch.Metric{Name: "rollout_corr/chi2_seq", Value: chi2Seq/rows - 1})
}

// probabilities appends verl's calculate_debug_metrics: the difference of the
// sampled tokens' probabilities in the two engines. Below one token, or two for
// deviation and correlation, verl's figures are NaN, and so are these.
func probabilities(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	var p pair
	for n := range masked.Kept(b.Mask) {
		p.add(elementary.Exp(b.LogpRoll[n]), elementary.Exp(b.Old.Logp[n]))
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
