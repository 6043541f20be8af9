package measurements

import (
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

func meanRatio(e []float64) (mean float64) {
	for _, v := range e {
		mean += elementary.Exp(v) / float64(len(e))
	}
	return mean
}

// outsideTenth is the share of tokens whose ratio lies outside [0.9, 1.1].
func outsideTenth(e []float64) (outside float64) {
	for _, v := range e {
		if r := elementary.Exp(v); r < 0.9 || r > 1.1 {
			outside += 1 / float64(len(e))
		}
	}
	return outside
}

// maskedRatios are the log-ratios with the learner's distribution renormalised
// over each token's sampling support.
func maskedRatios(b *batch.Batch) []float64 {
	e := logRatiosOf(b)
	for n, support := range b.Support {
		if support == nil {
			continue
		}
		mass := 0.0
		for _, id := range support {
			mass += elementary.Exp(float64(b.Old.Dist[n*b.Vocab+int(id)]))
		}
		e[n] -= elementary.Log(mass)
	}
	return e
}
