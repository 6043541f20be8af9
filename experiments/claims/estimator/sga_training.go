package estimator

import (
	"context"
	"math"
	"math/rand/v2"

	"driftlab/experiments/claims/claim"
	"driftlab/trainer/method/stream"
)

// sgaRates are the lengths of a normalised step of sga-training.
var sgaRates = []float64{0.02, 0.06}

func sgaTraining() claim.Claim {
	return claim.Claim{
		ID:        "sga-training",
		Title:     "Trained on answers of 256 tokens, an aggregation between token surrogate and sequence weight gets further",
		Statement: "A policy trained on stale responses of 256 tokens gains more with the best aggregation strictly between the token surrogate and the sequence weight than with the best of the extremes.",
		Source:    "Conjecture 1 of a survey on off-policy drift, while training; sga-frontier has it at fixed weights, with the list of aggregations.",
		Figure:    "for T >= 200 the best gradient lies strictly inside the list",
		Threshold: "Share of what exact gradients gain, best aggregation inside the list minus best of no IS, token IS, token TIS and sequence IS, mean over two rewards: interval over the draws above 0. " +
			"Aggregation and step are chosen on one run and judged on another one of the same problem, so that the longer list has no advantage.",
		Setup: "The token process of sga-frontier: 16 logits, four tokens, T of 256, two rewards. 100 updates of 128 responses, each a step of length 0.02 or 0.06 along the gradient, so that no aggregation wins by its scale; the sampler is 8 (natural) or 32 (amplified) updates behind " +
			"and has a random engine difference of sd 0.03 in its logits. The gain is the exact expected reward, mean over the last third of the run, minus that of the first weights, over that of the same number of steps along exact gradients at their better length. Nothing was examined before.",
		LeftOut:  "The transformer: responses of 200 tokens whose reward hangs on all of them. Optimisers with a memory. Other lengths.",
		Declared: claim.BeforeResults,
		Unit:     claim.Draw,
		Version:  1,
		Measure:  measureSGATraining,
		Judge:    judgeSGATraining,
	}
}

// sgaProblem is what the runs of a draw have in common.
type sgaProblem struct {
	*sgaProcess
	first, engine  sgaPolicy // the first weights, and what the sampler adds to every one
	lag, updates   int
	responses      int
	state, token   []uint8
	logs, weighted []float64
}

func newSGAProblem(rng *rand.Rand, p *sgaProcess, lag, updates, responses int) *sgaProblem {
	s := &sgaProblem{sgaProcess: p, lag: lag, updates: updates, responses: responses,
		state: make([]uint8, p.length), token: make([]uint8, p.length), logs: make([]float64, p.length), weighted: make([]float64, p.length)}
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
func (p *sgaProblem) sampledGradient(rng *rand.Rand, k *sgaEstimator, muLogits, piLogits *sgaPolicy) (g [sgaParams]float64) {
	mu, pi := muLogits.probabilities(), piLogits.probabilities()
	baseline, _ := p.gradient(muLogits)
	ratio := logRatios(&mu, &pi)
	var seen sgaPolicy // weight times gain of the tokens written in a state
	for range p.responses {
		gain := p.episode(rng, &mu, p.state, p.token) - baseline
		for t, s := range p.state {
			p.logs[t] = ratio[s][p.token[t]]
		}
		k.weights(p.weighted, p.logs)
		for t, s := range p.state {
			seen[s][p.token[t]] += float64(gain * p.weighted[t])
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

func measureSGATraining(ctx context.Context, e *claim.Env) (*claim.Observation, error) {
	o := new(claim.Observation)
	length, updates, responses := e.Pick(256, 256, 16), e.Pick(100, 50, 6), e.Pick(sgaBatch, sgaBatch/2, 8)
	for _, kind := range sgaRewards {
		for _, d := range sgaLevels {
			rng := e.Rand(uint64(d.steps)<<1 + uint64(len(kind)))
			p := newSGAProblem(rng, newSGAProcess(rng, kind, length), d.steps, updates, responses)
			start, _ := p.gradient(&p.first)
			best := start
			for _, rate := range sgaRates {
				best = max(best, p.train(rate, func(_, pi *sgaPolicy) [sgaParams]float64 {
					_, g := p.gradient(pi)
					return g
				}))
			}
			for k := range sgaEstimators {
				var gains [2][]float64 // by run, at each rate
				for run := range gains {
					for _, rate := range sgaRates {
						if err := ctx.Err(); err != nil {
							return nil, err
						}
						got := p.train(rate, func(mu, pi *sgaPolicy) [sgaParams]float64 {
							return p.sampledGradient(rng, &sgaEstimators[k], mu, pi)
						})
						gains[run] = append(gains[run], (got-start)/(best-start))
					}
				}
				o.Set(kind+" "+string(d.level)+" "+sgaEstimators[k].name, append(gains[0], gains[1]...)...)
			}
		}
	}
	return o, nil
}

// chosenGain is the gain of the best of some aggregations and rates by the first run, in
// the second.
func chosenGain(o *claim.Observation, arm string, of func(k int) bool) float64 {
	top, there := math.Inf(-1), 0.0
	for k := range sgaEstimators {
		if !of(k) {
			continue
		}
		gains := o.List(arm + " " + sgaEstimators[k].name)
		for r := range sgaRates {
			if gains[r] > top {
				top, there = gains[r], gains[len(sgaRates)+r]
			}
		}
	}
	return there
}

func judgeSGATraining(j *claim.Judge) {
	inside := func(arm string) []float64 {
		return j.Each(func(o *claim.Observation) float64 {
			return chosenGain(o, arm, sgaInside) - chosenGain(o, arm, func(k int) bool { return !sgaInside(k) })
		})
	}
	names := make([]string, len(sgaEstimators))
	for k := range names {
		names[k] = sgaEstimators[k].name
	}
	var groups []claim.Group
	for _, d := range sgaLevels {
		terminal, dense := sgaRewards[0]+" "+string(d.level), sgaRewards[1]+" "+string(d.level)
		a, b := inside(terminal), inside(dense)
		both := make([]float64, len(a))
		for i := range both {
			both[i] = (a[i] + b[i]) / 2
		}
		j.Primary(claim.Above(d.level, "share of the exact gain, best inside minus best extreme, both rewards", both, 0))
		for _, arm := range []string{terminal, dense} {
			j.Secondary(claim.Above(d.level, "share of the exact gain, best inside minus best extreme, "+arm, inside(arm), 0))
			alone := func(k int) []float64 {
				return j.Each(func(o *claim.Observation) float64 { return chosenGain(o, arm, func(i int) bool { return i == k }) })
			}
			for k, name := range names {
				j.Secondary(claim.Report(d.level, "share of the exact gain, "+name+", "+arm, alone(k)))
			}
			groups = append(groups, claim.Group{Name: arm, Values: alone})
		}
	}
	j.Evidence.Picture = j.Bars("What a run of 100 updates gains, by aggregation", "share of what exact gradients gain", false, names, groups...)
}
