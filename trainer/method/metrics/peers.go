package metrics

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// Peer appends the figures of the gap that another trainer logs and Step does not, under that trainer's names:
// those of nemo-rl or of miles; others have none. It panics if one of the two log-probs is missing.
func Peer(dst []batch.Metric, b *batch.Batch, names string) []batch.Metric {
	switch names {
	case "nemo-rl":
		return nemo(dst, b)
	case "miles":
		return robust(dst, b)
	}
	return dst
}

// nemo are NeMo-RL's, with a k3 for each KL. Its js_divergence_error is called Jensen-Shannon, but is two k3 terms of
// the sampled tokens against the mixture of the two probabilities: symmetric, 0 where they agree, and unbounded.
func nemo(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	var gen, policy, js, up, count float64
	for n := range masked.Kept(b.Mask) {
		e := b.Old.Logp[n] - b.LogpRoll[n]
		mixture := elementary.Log((elementary.Exp(b.Old.Logp[n]) + elementary.Exp(b.LogpRoll[n])) / 2)
		gen, policy = gen+k3(e), policy+k3(-e)
		js += k3(b.Old.Logp[n]-mixture) + k3(b.LogpRoll[n]-mixture)
		up += elementary.Exp(math.Abs(e))
		count++
	}
	count += masked.Epsilon
	return append(dst,
		batch.Metric{Name: "token_mult_prob_error", Value: up / count},
		batch.Metric{Name: "gen_kl_error", Value: gen / count},
		batch.Metric{Name: "policy_kl_error", Value: policy / count},
		batch.Metric{Name: "js_divergence_error", Value: js / 2 / count})
}

// robust are miles' means over responses of means over tokens, in which one broken log-prob does little: the KL takes
// e clamped to ±20, NaN as 0, and itself clamped to ±10; |e| takes NaN and infinity as 0.
func robust(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	kl, absolute := 0.0, 0.0
	for i := range b.Len() {
		k, a, count := 0.0, 0.0, 0.0
		for n := range b.Where(i, b.Mask) {
			count++
			e := b.Old.Logp[n] - b.LogpRoll[n]
			if !math.IsNaN(e) {
				k += min(k3(min(max(e, -20), 20)), 10)
				if !math.IsInf(e, 0) {
					a += math.Abs(e)
				}
			}
		}
		kl, absolute = kl+k/max(count, 1), absolute+a/max(count, 1)
	}
	rows := float64(max(b.Len(), 1))
	return append(dst, batch.Metric{Name: "train_rollout_kl", Value: kl / rows}, batch.Metric{Name: "train_rollout_logprob_abs_diff", Value: absolute / rows})
}
