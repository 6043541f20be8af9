package measurements

import (
	"math"
	"math/rand/v2"

	"driftlab/experiments/study/claims/claim"
	"driftlab/trainer/method/stream"
)

// sgaProblem is what the runs of a draw have in common.
type sgaProblem struct {
	*sgaProcess
	first, engine sgaPolicy // the first weights, and what the sampler adds to every one
	lag, updates  int
	responses     int
}

func newSGAProblem(rng *rand.Rand, p *sgaProcess, lag, updates, responses int) *sgaProblem {
	s := &sgaProblem{sgaProcess: p, lag: lag, updates: updates, responses: responses}
	for i := range s.first {
		for a := range s.first[i] {
			s.first[i][a] = 0.5 * stream.Normal(rng)
			s.engine[i][a] = 0.03 * stream.Normal(rng)
		}
	}
	return s
}

// train makes a run with steps of that length along what gradient says of a sampler and a
// policy, and returns the expected reward over its last third.
func (p *sgaProblem) train(rate float64, gradient func(mu, pi *sgaPolicy) [sgaParams]float64) float64 {
	history := []sgaPolicy{p.first}
	late, counted := 0.0, 0
	for u := range p.updates {
		pi, mu := history[u], history[max(u-p.lag, 0)]
		for s := range mu {
			for a := range mu[s] {
				mu[s][a] += p.engine[s][a]
			}
		}
		g := gradient(&mu, &pi)
		pi.step(&g, rate)
		history = append(history, pi)
		if u >= p.updates-max(p.updates/3, 1) {
			reward, _ := p.gradient(&pi)
			late, counted = late+reward, counted+1
		}
	}
	return late / float64(counted)
}

// sampledGradient is the gradient of a batch of mu's responses under an aggregation.
func (p *sgaProblem) sampledGradient(rng *rand.Rand, k *aggregation, muLogits, piLogits *sgaPolicy) (g [sgaParams]float64) {
	mu, pi := muLogits.probabilities(), piLogits.probabilities()
	baseline, _ := p.gradient(muLogits)
	ratio := logRatios(&mu, &pi)
	var seen sgaPolicy // weight times gain of the tokens written in a state
	state, token := make([]uint8, p.length), make([]uint8, p.length)
	logs, weight := make([]float64, p.length), make([]float64, p.length)
	for range p.responses {
		gain := p.episode(rng, &mu, state, token) - baseline
		for t, s := range state {
			logs[t] = ratio[s][token[t]]
		}
		k.weights(weight, logs)
		for t, s := range state {
			seen[s][token[t]] += float64(gain * weight[t])
		}
	}
	for s := range seen {
		all := 0.0
		for _, v := range seen[s] {
			all += v
		}
		for a, v := range seen[s] {
			g[s*sgaTokens+a] = v - float64(pi[s][a]*all)
		}
	}
	return g
}

// aggregationRuns trains the token process with each aggregation on a sampler some updates behind,
// twice at every length of a step.
type aggregationRuns struct {
	Length, Updates, Responses sizes
	Ahead                      []ahead
	Steps                      []float64
	Aggregations               []aggregation
}

// Measure records, by reward, level and aggregation, the shares of what exact gradients gain: at
// every step's length in the first run, and then in the second.
func (m *aggregationRuns) Measure(e *claim.Env, o *claim.Observation) {
	for _, kind := range rewardKinds {
		for _, d := range m.Ahead {
			rng := e.Rand(uint64(d.Updates)<<1 + uint64(len(kind)))
			p := newSGAProblem(rng, newSGAProcess(rng, kind, m.Length.of(e)), d.Updates, m.Updates.of(e), m.Responses.of(e))
			start, _ := p.gradient(&p.first)
			best := start
			for _, rate := range m.Steps {
				best = max(best, p.train(rate, func(_, pi *sgaPolicy) [sgaParams]float64 {
					_, g := p.gradient(pi)
					return g
				}))
			}
			for k := range m.Aggregations {
				for range 2 {
					for _, rate := range m.Steps {
						e.Continue()
						got := p.train(rate, func(mu, pi *sgaPolicy) [sgaParams]float64 {
							return p.sampledGradient(rng, &m.Aggregations[k], mu, pi)
						})
						o.Append(kind+" "+d.Level+" "+m.Aggregations[k].Name, (got-start)/(best-start))
					}
				}
			}
		}
	}
}

// chosenGain is the gain of the best of some aggregations and steps by the first run, in the second.
func chosenGain(lists ...[]float64) []float64 {
	top, there := math.Inf(-1), 0.0
	for _, gains := range lists {
		first := gains[:len(gains)/2]
		for r, gain := range first {
			if gain > top {
				top, there = gain, gains[len(first)+r]
			}
		}
	}
	return []float64{there}
}
