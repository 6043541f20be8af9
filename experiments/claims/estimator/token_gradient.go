package estimator

import (
	"math/rand/v2"

	"driftlab/trainer/method/stream"
)

// tokenGradient is the policy gradient of one token under a sampler and a weight, enumerated: what a sample adds is
// weight(pi/mu)·(reward - baseline)·score.
type tokenGradient struct {
	mean   []float64
	second float64 // the mean of the squared length of what a sample adds
}

// gradientOf enumerates it; the baseline is the sampler's mean reward.
func gradientOf(mu, pi, reward []float64, weight func(w float64) float64) tokenGradient {
	baseline, square := 0.0, 0.0
	for a := range mu {
		baseline += float64(mu[a] * reward[a])
		square += float64(pi[a] * pi[a])
	}
	g := tokenGradient{mean: make([]float64, len(mu))}
	all := 0.0
	for a := range mu {
		x := float64(weight(pi[a]/mu[a]) * (reward[a] - baseline))
		share := float64(mu[a] * x)
		g.mean[a] += share
		all += share
		g.second += float64(float64(share*x) * (1 - float64(2*pi[a]) + square))
	}
	for a := range pi {
		g.mean[a] -= float64(pi[a] * all)
	}
	return g
}

// error is the mean squared error of the mean of n samples as an estimate of the exact gradient.
func (g tokenGradient) error(exact []float64, n float64) float64 {
	bias := make([]float64, len(exact))
	for a := range exact {
		bias[a] = g.mean[a] - exact[a]
	}
	return dot(bias, bias) + float64((g.second-dot(g.mean, g.mean))/n)
}

func dot(x, y []float64) (sum float64) {
	for i := range x {
		sum += float64(x[i] * y[i])
	}
	return sum
}

// The weights of a ratio.
func plainWeight(float64) float64       { return 1 }
func ratioWeight(w float64) float64     { return w }
func truncatedWeight(w float64) float64 { return min(w, 2) }
func rejectedWeight(w float64) float64 {
	if w > 2 {
		return 0
	}
	return w
}

// randomRewards are rewards of the tokens: one in four is right.
func randomRewards(rng *rand.Rand, n int) []float64 {
	r := make([]float64, n)
	for a := range r {
		if rng.Float64() < 0.25 {
			r[a] = 1
		}
	}
	r[rng.IntN(n)] = 1
	return r
}

// noisyLaw has normal noise of that size in the logits.
func noisyLaw(rng *rand.Rand, logits []float64, noise float64) []float64 {
	out := make([]float64, len(logits))
	for a := range out {
		out[a] = logits[a] + float64(noise*stream.Normal(rng))
	}
	return law(out)
}
