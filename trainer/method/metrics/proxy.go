package metrics

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
)

// VarianceProxy appends verl's compute_variance_proxy_metrics: estimates of the
// gradient's power and noise that need no per-response gradient. With the score
// norm W_i = Σ_t (1 − 2·exp(old_t) + Σ_a q(a)²):
//
//	proxy1 = ‖mean gradient‖²      proxy2 = mean(w̄_i²·Ā_i²·W_i)
//	proxy3 = max(0, (proxy2 − proxy1)/(N − 1))
//
// w̄ and Ā are means over the response, N counts all responses, empty ones as 0. It reads
// SumSquares, LogpOld, Advantage and Weight. A negative gradientNorm means that
// it is not known: proxy1 and proxy3 are 0. Tokens of weight 0 drop out of W in
// proxy2, as in verl.
//
// Source: verl metric_utils; arXiv 2602.07078.
func VarianceProxy(dst []batch.Metric, b *batch.Batch, gradientNorm float64) []batch.Metric {
	power, square, score := 0.0, 0.0, 0.0
	for i := range b.Len() {
		from, to := b.Span(i)
		mask := b.Mask[from:to]
		if masked.Count(mask) == 0 {
			continue
		}
		weighed, plain, weight := 0.0, 0.0, 1.0
		for k := range b.Where(i, b.Mask) {
			w := 1 - 2*elementary.Exp(b.Old.Logp[k]) + b.Old.SumSquares[k]
			if b.Weight != nil {
				v := b.Weight[k] * b.Weight[k]
				weighed += float64(w * v)
				w = w * v / max(v, 1e-10)
			} else {
				weighed += w
			}
			plain += w
		}
		if b.Weight != nil {
			weight = masked.Mean(b.Weight[from:to], mask)
		}
		a := masked.Mean(b.Advantage[from:to], mask)
		power += float64(weight * weight * a * a * max(plain, 0))
		square += float64(a * a)
		score += weighed
	}
	rows := float64(max(b.Len(), 1))
	signal, noise := 0.0, 0.0
	if gradientNorm >= 0 {
		signal = float64(gradientNorm * gradientNorm)
		if rows > 1 {
			noise = max((power/rows-signal)/(rows-1), 0)
		}
	}
	return append(dst,
		batch.Metric{Name: "variance_proxy/proxy1_signal_strength", Value: signal},
		batch.Metric{Name: "variance_proxy/proxy2_total_power", Value: power / rows},
		batch.Metric{Name: "variance_proxy/proxy3_pure_noise", Value: noise},
		batch.Metric{Name: "variance_proxy/expected_a_squared", Value: square / rows},
		batch.Metric{Name: "variance_proxy/expected_w", Value: score / rows})
}
