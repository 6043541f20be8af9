package measurements

import (
	"math"
	"math/rand/v2"

	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/stream"
)

// categories is the vocabulary of the distributions of one token that these claims enumerate.
const categories = 64

// tokenLogits are the logits of a random distribution, of standard deviation 2.
func tokenLogits(rng *rand.Rand) []float64 {
	p := make([]float64, categories)
	for a := range p {
		p[a] = 2 * stream.Normal(rng)
	}
	return p
}

// pairLogits are the logits of a random distribution, of standard deviation 2, and of one that
// is shifted from it by normal noise.
func pairLogits(rng *rand.Rand, shift float64) (p, q []float64) {
	p, q = make([]float64, categories), make([]float64, categories)
	for a := range p {
		p[a] = 2 * stream.Normal(rng)
		q[a] = p[a] + float64(shift*stream.Normal(rng))
	}
	return p, q
}

// normalised divides by the sum, in place.
func normalised(p []float64) []float64 {
	sum := 0.0
	for _, x := range p {
		sum += x
	}
	for a := range p {
		p[a] /= sum
	}
	return p
}

func law(logits []float64) []float64 { return normalised(stats.Each(logits, elementary.Exp)) }

// apart is the total variation of two distributions.
func apart(p, q []float64) float64 {
	sum := 0.0
	for a := range p {
		sum += float64(math.Abs(p[a]-q[a]) / 2)
	}
	return sum
}

// shannon is the entropy, in nats.
func shannon(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		if x > 0 {
			h -= float64(x * elementary.Log(x))
		}
	}
	return h
}

// chi2Bound compares the chi2 divergence of random pairs of distributions, whose logits differ by
// normal noise, with its bound R²·M2 (M2PO, 2510.01161): R is the largest ratio and M2 the mean of
// log² of the ratio.
type chi2Bound struct {
	Pairs  sizes
	Shifts []float64
}

// Measure records the pairs beyond the bound, and the geometric mean of bound over chi2 by shift.
func (m *chi2Bound) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	violations := 0.0
	var looseness []float64
	for _, shift := range m.Shifts {
		var logs []float64
		for range m.Pairs.of(e) {
			lp, lq := pairLogits(rng, shift)
			mu, pi := law(lp), law(lq)
			chi2, m2, most := 0.0, 0.0, 1.0
			for a := range mu {
				r := pi[a] / mu[a]
				l := elementary.Log(r)
				chi2 += float64(mu[a] * (r - 1) * (r - 1))
				m2 += float64(mu[a] * l * l)
				most = max(most, r)
			}
			bound := most * most * m2
			if chi2 > bound*(1+1e-9) {
				violations++
			}
			logs = append(logs, elementary.Log(bound/chi2))
		}
		looseness = append(looseness, elementary.Exp(stats.Average(logs)))
	}
	o.Set("violations", violations)
	o.Set("bound over chi2", looseness...)
}

// truncatedLaws compares the distribution that weighted samples train, mu·w(r) after normalisation,
// with mu, for weights that are cut at High, or 0 outside a band.
type truncatedLaws struct {
	Pairs   sizes
	Shift   float64
	Weights []struct{ Low, High float64 } // a band has a Low, no bound is 0
}

// Measure records the mean total variation from mu, a value for each weight.
func (m *truncatedLaws) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	mean := make([]float64, len(m.Weights))
	n := m.Pairs.of(e)
	for range n {
		lp, lq := pairLogits(rng, m.Shift)
		mu, pi := law(lp), law(lq)
		for i, w := range m.Weights {
			trained := make([]float64, len(mu))
			for a := range mu {
				trained[a] = mu[a] * boundedWeight(pi[a]/mu[a], w.Low, w.High)
			}
			mean[i] += apart(mu, normalised(trained)) / float64(n)
		}
	}
	o.Set("variation", mean...)
}

// boundedWeight is the ratio cut at high, or 0 outside a band that has a low end; a high end of 0
// is none.
func boundedWeight(r, low, high float64) float64 {
	switch {
	case high == 0:
		return r
	case low == 0:
		return min(r, high)
	case r < low || r > high:
		return 0
	}
	return r
}

// mixtures compares the entropies of the geometric and the linear mixture of two independent random
// distributions.
type mixtures struct {
	Pairs sizes
	// Shares are the weights of the first distribution.
	Shares []float64
}

// Measure records the mean entropies by share, and how often the geometric mixture has the higher one at equal
// shares.
func (m *mixtures) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	n := m.Pairs.of(e)
	geometric, linear := make([]float64, len(m.Shares)), make([]float64, len(m.Shares))
	contrary := 0.0
	for range n {
		lt, _ := pairLogits(rng, 0)
		ls, _ := pairLogits(rng, 0)
		teacher, student := law(lt), law(ls)
		for i, share := range m.Shares {
			logits, mixed := make([]float64, categories), make([]float64, categories)
			for a := range logits {
				logits[a] = float64(share*lt[a]) + float64((1-share)*ls[a])
				mixed[a] = float64(share*teacher[a]) + float64((1-share)*student[a])
			}
			g, l := shannon(law(logits)), shannon(mixed)
			geometric[i] += g / float64(n)
			linear[i] += l / float64(n)
			if share == 0.5 && g > l {
				contrary += 1 / float64(n)
			}
		}
	}
	o.Set("geometric", geometric...)
	o.Set("linear", linear...)
	o.Set("contrary", contrary)
}
