package metrics

import (
	"math"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
)

// compareDistributions fills exact KL and total variation from DistRoll and
// DistOld, if both are recorded; all is memory for a value of each token.
func (g *Gap) compareDistributions(b *batch.Batch, all []float64) {
	if b.Vocab == 0 || b.Require(batch.DistRoll, batch.DistOld) != nil {
		return
	}
	g.HasExact = true
	for n, counts := range b.Mask {
		if !counts {
			continue
		}
		at := n * b.Vocab
		kl, tv := divergence(b.DistRoll[at:at+b.Vocab], b.Old.Dist[at:at+b.Vocab])
		g.ExactKL, g.ExactTV = g.ExactKL+kl, g.ExactTV+tv
		g.MaxKL, g.MaxTV = max(g.MaxKL, kl), max(g.MaxTV, tv)
		all = append(all, tv)
	}
	g.TailTV = tail(all)
	g.ExactKL /= float64(g.Tokens)
	g.ExactTV /= float64(g.Tokens)
}

// compareTails fills Chi2Tail; all is memory for a value of each token.
func (g *Gap) compareTails(b *batch.Batch, all []float64) {
	for n, counts := range b.Mask {
		if counts {
			e := min(max(b.Old.Logp[n]-b.LogpRoll[n], -clampLogRatio), clampLogRatio)
			off := elementary.Expm1(e)
			all = append(all, off*off)
		}
	}
	g.Chi2Tail = tail(all)
}

// tail is the 95th percentile: the least value that at most one in twenty exceeds. It
// sorts its argument.
func tail(all []float64) float64 {
	slices.Sort(all)
	return all[(95*len(all)+99)/100-1]
}

// divergence returns KL(p||q) in nats and the total variation ½·Σ|p−q| of two
// rows of log-probs. Tokens with p = 0 add nothing to the KL. Rows that are
// equal give exactly 0.
func divergence(logP, logQ []float32) (kl, tv float64) {
	var probs [2][64]float64 // of a part of both rows
	for n := 0; len(logP) > 0; logP, logQ = logP[n:], logQ[n:] {
		n = min(len(logP), len(probs[0]))
		elementary.Exps(probs[0][:n], logP[:n])
		elementary.Exps(probs[1][:n], logQ[:n])
		for a := range n {
			if logP[a] == logQ[a] {
				continue
			}
			lp, lq, p, q := float64(logP[a]), float64(logQ[a]), probs[0][a], probs[1][a]
			if p > 0 {
				// Each term p·(lp−lq) − p + q is never negative, and the added parts
				// sum to nothing: small divergences keep their digits.
				kl += float64(p*(lp-lq)) - p + q
			} else {
				kl += q
			}
			tv += math.Abs(p - q)
		}
	}
	return kl, tv / 2
}
