package estimator

import (
	"math/rand/v2"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// sampled are the moments of a response's gradient under the product of its
// ratios, cut at a limit. The cut needs the law of the product, which dynamic
// programming has not; but a weight that is bounded is one that a sample can
// average.
func (p *sgaProcess) sampled(rng *rand.Rand, muLogits, piLogits *sgaPolicy, limit float64, responses int) (mean [sgaParams]float64, square float64) {
	mu, pi := muLogits.probabilities(), piLogits.probabilities()
	baseline, _ := p.gradient(muLogits)
	logs := logRatios(&mu, &pi)
	state, token := make([]uint8, p.length), make([]uint8, p.length)
	for range responses {
		gain := p.episode(rng, &mu, state, token) - baseline
		total := 0.0
		var g [sgaParams]float64
		for t, s := range state {
			total += logs[s][token[t]]
			for a := range sgaTokens {
				g[int(s)*sgaTokens+a] -= pi[s][a]
			}
			g[int(s)*sgaTokens+int(token[t])]++
		}
		w := gain * min(elementary.Exp(total), limit)
		for i, v := range g {
			mean[i] += w * v / float64(responses)
		}
		square += w * w * stats.Dot(g[:], g[:]) / float64(responses)
	}
	return mean, square
}
