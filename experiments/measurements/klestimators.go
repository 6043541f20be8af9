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

// The tabular policy of k-estimators: logits for every prefix of up to two of
// eight tokens, so that the 512 responses of three tokens can be enumerated.
const (
	kVocab   = 8
	kHorizon = 3
	kPrefix  = 1 + kVocab + kVocab*kVocab
	kTexts   = kVocab * kVocab * kVocab
)

// kCell is an estimator of the gradient of KL(pi || ref): a factor on the score
// of a sampled response. l is log pi/ref of the response, w is pi/mu.
type kCell struct {
	name      string
	offPolicy bool
	factor    func(l, w float64) float64
}

var kCells = []kCell{
	{"k1 in the reward", false, func(l, _ float64) float64 { return l }},
	{"k2 in the reward", false, func(l, _ float64) float64 { return l * l / 2 }},
	{"k3 in the reward", false, func(l, _ float64) float64 { return elementary.Expm1(-l) + l }},
	{"k1 as a loss", false, func(_, _ float64) float64 { return 1 }},
	{"k2 as a loss", false, func(l, _ float64) float64 { return l }},
	{"k3 as a loss", false, func(l, _ float64) float64 { return -elementary.Expm1(-l) }},
	{"off-policy: k1 in the reward", true, func(l, _ float64) float64 { return l }},
	{"off-policy: k2 as a loss", true, func(l, _ float64) float64 { return l }},
	{"off-policy: k3 as a loss", true, func(l, _ float64) float64 { return -elementary.Expm1(-l) }},
	{"off-policy: weighted k1 in the reward", true, func(l, w float64) float64 { return w * l }},
	// d(w·k3) = w·score·k3 + w·(1 - e^-l)·score = w·l·score: the weight is
	// differentiated too.
	{"off-policy: weighted k3 as a loss", true, func(l, w float64) float64 { return w * (elementary.Expm1(-l) + l - elementary.Expm1(-l)) }},
}

// tabular is a policy over the prefixes, as log-probs.
type tabular [kPrefix][kVocab]float64

func randomTabular(rng *rand.Rand, from *tabular, sd float64) *tabular {
	p := new(tabular)
	for s := range p {
		sum := 0.0
		for a := range p[s] {
			p[s][a] = from[s][a] + float64(sd*stream.Normal(rng))
			sum += elementary.Exp(p[s][a])
		}
		for a := range p[s] {
			p[s][a] -= elementary.Log(sum)
		}
	}
	return p
}

func path(y int) (prefix, token [kHorizon]int) {
	token = [kHorizon]int{y / (kVocab * kVocab), y / kVocab % kVocab, y % kVocab}
	prefix = [kHorizon]int{0, 1 + token[0], 1 + kVocab + token[0]*kVocab + token[1]}
	return prefix, token
}

func (p *tabular) logp(y int) float64 {
	prefix, token := path(y)
	sum := 0.0
	for t := range kHorizon {
		sum += p[prefix[t]][token[t]]
	}
	return sum
}

// addScore adds c times the score of text y, one factor per token.
func (p *tabular) addScore(g []float64, y int, c [kHorizon]float64) {
	prefix, token := path(y)
	for t := range kHorizon {
		at := prefix[t] * kVocab
		for a := range kVocab {
			g[at+a] -= float64(c[t] * elementary.Exp(p[prefix[t]][a]))
		}
		g[at+token[t]] += c[t]
	}
}

// gradientOfKL is the gradient of KL(p || ref) by dynamic programming, from the last
// prefixes to the first: pi(a|s)·(log pi/ref + KL of what follows - KL from s),
// times the chance of reaching s.
func (p *tabular) gradientOfKL(ref *tabular) []float64 {
	var reach, left [kPrefix]float64
	g := make([]float64, kPrefix*kVocab)
	reach[0] = 1
	child := func(s, a int) int { return 1 + s*kVocab + a }
	for s := range kPrefix {
		for a := range kVocab {
			if n := child(s, a); n < kPrefix {
				reach[n] = reach[s] * elementary.Exp(p[s][a])
			}
		}
	}
	for s := kPrefix - 1; s >= 0; s-- {
		var cost [kVocab]float64
		for a := range kVocab {
			cost[a] = p[s][a] - ref[s][a]
			if n := child(s, a); n < kPrefix {
				cost[a] += left[n]
			}
			left[s] += float64(elementary.Exp(p[s][a]) * cost[a])
		}
		for a := range kVocab {
			g[s*kVocab+a] = reach[s] * elementary.Exp(p[s][a]) * (cost[a] - left[s])
		}
	}
	return g
}

func same(c float64) [kHorizon]float64 { return [kHorizon]float64{c, c, c} }

func drawTexts(rng *rand.Rand, law []float64, n int) []int {
	cumulative, sum := make([]float64, len(law)), 0.0
	for y, p := range law {
		sum += p
		cumulative[y] = sum
	}
	counts := make([]int, len(law))
	for range n {
		y, _ := slices.BinarySearch(cumulative, rng.Float64()*sum)
		counts[min(y, len(law)-1)]++
	}
	return counts
}

func distanceOf(a, b []float64) float64 { return norm(stats.Differences(a, b)) }

// klEstimators compares the expected gradients of estimators of KL(pi || ref), enumerated over all
// responses, with the gradient by dynamic programming (Schulman's note on approximating KL), and
// draws responses to see how far a sample is off.
type klEstimators struct {
	Responses sizes
}

// Measure records errors by estimator, of the expectation and of the sample along the gradient in standard errors,
// the sampled gradient of k1 as a loss, the error of a k2 loss per token, and bias and deviation of the values, in units of the KL.
func (m *klEstimators) Measure(e *claim.Env, o *claim.Observation) {
	rng := e.Rand(1)
	pi := randomTabular(rng, new(tabular), 1)
	ref, mu := randomTabular(rng, pi, 0.5), randomTabular(rng, pi, 0.3)
	var l, w, own, behaviour [kTexts]float64
	truth, myopic := pi.gradientOfKL(ref), make([]float64, kPrefix*kVocab)
	for y := range kTexts {
		l[y], w[y] = pi.logp(y)-ref.logp(y), elementary.Exp(pi.logp(y)-mu.logp(y))
		own[y], behaviour[y] = elementary.Exp(pi.logp(y)), elementary.Exp(mu.logp(y))
		prefix, token := path(y)
		var each [kHorizon]float64
		for t := range kHorizon {
			each[t] = own[y] * (pi[prefix[t]][token[t]] - ref[prefix[t]][token[t]])
		}
		pi.addScore(myopic, y, each)
	}
	size := norm(truth)
	n := m.Responses.of(e)
	var exact, along []float64
	for _, cell := range kCells {
		law := own
		if cell.offPolicy {
			law = behaviour
		}
		expected, sampled := make([]float64, len(truth)), make([]float64, len(truth))
		counts := drawTexts(rng, law[:], n)
		spread, second := 0.0, 0.0
		for y := range kTexts {
			f := cell.factor(l[y], w[y])
			pi.addScore(expected, y, same(law[y]*f))
			pi.addScore(sampled, y, same(float64(counts[y])/float64(n)*f))
			single := make([]float64, len(truth))
			pi.addScore(single, y, same(f))
			spread += float64(law[y] * stats.Dot(single, single))
			second += float64(law[y] * stats.Dot(single, truth) * stats.Dot(single, truth))
		}
		if cell.name == "k1 as a loss" {
			o.Set("k1 as a loss, in standard errors", math.Sqrt(stats.Dot(sampled, sampled)/((spread-stats.Dot(expected, expected))/float64(n))))
		}
		first := stats.Dot(expected, truth)
		exact = append(exact, distanceOf(expected, truth)/size)
		along = append(along, (stats.Dot(sampled, truth)-float64(size*size))/math.Sqrt((second-float64(first*first))/float64(n)))
	}
	o.Set("exact error", exact...)
	o.Set("error along the gradient", along...)
	o.Set("per-token k2", distanceOf(myopic, truth)/size)
	kl := stats.Dot(own[:], l[:])
	abs := func(l, _ float64) float64 { return math.Abs(l) }
	for _, value := range []func(l, w float64) float64{kCells[0].factor, abs, kCells[1].factor, kCells[2].factor} { // k1, |log-ratio|, k2, k3
		each := stats.Each(l[:], func(l float64) float64 { return value(l, 1) })
		mean := stats.Dot(own[:], each)
		spread := stats.Dot(own[:], stats.Each(each, func(x float64) float64 { return (x - mean) * (x - mean) }))
		o.Append("bias of the value", (mean-kl)/kl)
		o.Append("deviation of the value", math.Sqrt(spread)/kl)
	}
}
