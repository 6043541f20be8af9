package measurements

import (
	"math"

	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
)

// byProbability returns, per bin of equally many tokens by the rollout
// probability, the mean probability, mean |log-ratio| and mean log-ratio.
func byProbability(b *batch.Batch, bins int) (lists [3][]float64) {
	order := stats.Order(b.LogpRoll)
	e := logRatiosOf(b)
	for k := range bins {
		part := order[k*len(order)/bins : (k+1)*len(order)/bins]
		var sums [3]float64
		for _, n := range part {
			sums[0] += elementary.Exp(b.LogpRoll[n])
			sums[1] += math.Abs(e[n])
			sums[2] += e[n]
		}
		for i, sum := range sums {
			lists[i] = append(lists[i], sum/float64(len(part)))
		}
	}
	return lists
}

// wideGap is the |log-ratio| from which a token counts as wide, one per cent.
const wideGap = 0.01

// extremes are, of the tokens with p < 0.01 and of those with p > 0.99, the mean |log-ratio|, NaN without any such token, how many
// they are, and how many of them are wide.
func extremes(b *batch.Batch) (lists [3][]float64) {
	var sum, tokens, wide [2]float64
	for n, e := range logRatiosOf(b) {
		k := 0
		switch p := elementary.Exp(b.LogpRoll[n]); {
		case p > 0.99:
			k = 1
		case p >= 0.01:
			continue
		}
		tokens[k]++
		sum[k] += math.Abs(e)
		if math.Abs(e) > wideGap {
			wide[k]++
		}
	}
	return [3][]float64{{sum[0] / tokens[0], sum[1] / tokens[1]}, tokens[:], wide[:]}
}

// pruneBelow is the probability below which the pruned arm drops tokens.
const pruneBelow = 1e-4

// exactChi2 is the mean over tokens of Σ_v π(v)²/μ(v) - 1, over the whole
// vocabulary and over the tokens with μ > 1e-4, both sides renormalised there.
func exactChi2(b *batch.Batch) []float64 {
	full, pruned := 0.0, 0.0
	v := b.Vocab
	for n := range b.Tokens() {
		mu, pi := b.DistRoll[n*v:(n+1)*v], b.Old.Dist[n*v:(n+1)*v]
		var all, kept, massMu, massPi float64
		for i := range mu {
			m, p := elementary.Exp(float64(mu[i])), elementary.Exp(float64(pi[i]))
			if m == 0 {
				continue
			}
			all += p * p / m
			if m > pruneBelow {
				kept += p * p / m
				massMu += m
				massPi += p
			}
		}
		full += all - 1
		pruned += kept*massMu/(massPi*massPi) - 1
	}
	return []float64{full / float64(b.Tokens()), pruned / float64(b.Tokens())}
}
