package measurements

import (
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
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
	baseline, square := stats.Dot(mu, reward), stats.Dot(pi, pi)
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
	bias := stats.Differences(g.mean, exact)
	return stats.Dot(bias, bias) + float64((g.second-stats.Dot(g.mean, g.mean))/n)
}

// Weights of a ratio.
func plainWeight(float64) float64       { return 1 }
func ratioWeight(w float64) float64     { return w }
func truncatedWeight(w float64) float64 { return boundedWeight(w, 0, 2) }
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

// quadrants compares the errors of the gradient of a batch of tokens under weights, rejection above
// a ratio of 2 and no weight, in two gaps: rare tokens (each tenth is Rarer in the sampler), which
// make chi2 high, and a broad shift of the logits, which makes total variation high.
type quadrants struct {
	Pairs  sizes
	Tokens float64
	Rarer  float64
	Shift  float64
}

// Measure records log-ratios of mean squared errors, distances of the gradient's scale from 1, total variation
// and chi2, for either gap.
func (m *quadrants) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	n := m.Pairs.of(e)
	var first, none, plain, normal, tv, chi2 [2]float64
	for range n {
		logits := tokenLogits(rng)
		pi, reward := law(logits), randomRewards(rng, categories)
		exact := gradientOf(pi, pi, reward, plainWeight).mean
		rare := slices.Clone(logits)
		for a := range rare {
			if a%10 == 0 {
				rare[a] -= elementary.Log(m.Rarer)
			}
		}
		broad := stats.Each(logits, func(l float64) float64 { return l + float64(m.Shift*stream.Normal(rng)) })
		for k, mu := range [][]float64{law(rare), law(broad)} {
			weights, rejected := gradientOf(mu, pi, reward, ratioWeight), gradientOf(mu, pi, reward, rejectedWeight)
			x := elementary.Log(weights.error(exact, m.Tokens) / rejected.error(exact, m.Tokens))
			first[k] += x / float64(n)
			none[k] += elementary.Log(gradientOf(mu, pi, reward, plainWeight).error(exact, m.Tokens)/weights.error(exact, m.Tokens)) / float64(n)
			mean, square := 0.0, 0.0
			for a := range mu {
				mean += float64(mu[a] * truncatedWeight(pi[a]/mu[a]))
				square += float64(pi[a]*pi[a]) / mu[a]
			}
			scale := stats.Dot(gradientOf(mu, pi, reward, truncatedWeight).mean, exact) / stats.Dot(exact, exact)
			plain[k] += math.Abs(scale-1) / float64(n)
			normal[k] += math.Abs(scale/mean-1) / float64(n)
			tv[k] += apart(mu, pi) / float64(n)
			chi2[k] += (square - 1) / float64(n)
		}
	}
	o.Set("log error, weights over rejection", first[:]...)
	o.Set("log error, no weight over weights", none[:]...)
	o.Set("distance of the scale from 1, token TIS", plain[:]...)
	o.Set("distance of the scale from 1, token TIS over its mean", normal[:]...)
	o.Set("total variation", tv[:]...)
	o.Set("chi2", chi2[:]...)
}

// replayErrors is the error of the gradient of token TIS over the tokens of the last updates, each
// of which adds normal noise to the logits, by bias and variance.
type replayErrors struct {
	Policies sizes
	// Updates are the numbers of updates, ascending; Tokens are generated for each.
	Updates []int
	Tokens  float64
	Drift   float64
}

// Measure records the mean log of the mean squared error, a value for each number of updates.
func (m *replayErrors) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	n := m.Policies.of(e)
	logs := make([]float64, len(m.Updates))
	for range n {
		logits := tokenLogits(rng)
		pi, reward := law(logits), randomRewards(rng, categories)
		exact := gradientOf(pi, pi, reward, plainWeight).mean
		sum, variance, k := make([]float64, categories), 0.0, 0
		for age := range m.Updates[len(m.Updates)-1] {
			g := gradientOf(law(logits), pi, reward, truncatedWeight)
			for a := range sum {
				sum[a] += g.mean[a]
			}
			variance += float64((g.second - stats.Dot(g.mean, g.mean)) / m.Tokens)
			if used := float64(age + 1); age+1 == m.Updates[k] {
				bias := stats.Differences(stats.Each(sum, func(v float64) float64 { return v / used }), exact)
				logs[k] += elementary.Log(stats.Dot(bias, bias)+variance/float64(used*used)) / float64(n)
				k++
			}
			for a := range logits {
				logits[a] += float64(m.Drift * stream.Normal(rng))
			}
		}
	}
	o.Set("log error", logs...)
}
