package measurements

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// confidences are the rollout probabilities of sampled tokens that bound the bins of byConfidence.
var confidences = []float64{0.5, 0.9, 0.99, 0.999}

// byConfidence returns, per bin of the rollout probability, how far the engines displace the log-odds of a sampled token, how far
// they displace its log-prob, both as median absolute deviations, and how many tokens the bin has (CIS, 2609.32444). It needs whole
// distributions: next to p = 1 the digits of 1 - p are in the probabilities of the other tokens alone.
func byConfidence(b *batch.Batch) (lists [3][]float64) {
	odds, ratios := make([][]float64, len(confidences)+1), make([][]float64, len(confidences)+1)
	e := logRatiosOf(b)
	for n, logp := range b.LogpRoll {
		k, p := 0, elementary.Exp(logp)
		for k < len(confidences) && p > confidences[k] {
			k++
		}
		odds[k] = append(odds[k], logOdds(b, b.Old.Dist, n)-logOdds(b, b.DistRoll, n))
		ratios[k] = append(ratios[k], e[n])
	}
	for k := range odds {
		lists[0] = append(lists[0], medianDeviation(odds[k]))
		lists[1] = append(lists[1], medianDeviation(ratios[k]))
		lists[2] = append(lists[2], float64(len(odds[k])))
	}
	return lists
}

// logOdds is log(p/(1-p)) of sampled token n under a distribution.
func logOdds(b *batch.Batch, dist []float32, n int) float64 {
	others := 0.0
	for v, logp := range dist[n*b.Vocab : (n+1)*b.Vocab] {
		if v != int(b.Token[n]) {
			others += elementary.Exp(float64(logp))
		}
	}
	return float64(dist[n*b.Vocab+int(b.Token[n])]) - elementary.Log(others)
}

// medianDeviation is the median distance from the median; NaN without a value.
func medianDeviation(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	middle := stats.Median(x)
	return stats.Median(stats.Each(x, func(v float64) float64 { return math.Abs(v - middle) }))
}
