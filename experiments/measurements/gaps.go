package measurements

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"driftlab/experiments/measure"
	"driftlab/experiments/study/claims/claim"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"

	"go.yaml.in/yaml/v4"
)

// pair is a rollout engine whose responses a learner scores at the same weights.
type pair struct {
	Model            frozen
	Rollout, Learner format
	// Ranks is the number of tensor-parallel ranks of the rollout engine, with a bf16 wire.
	Ranks             int
	Sequences, Tokens sizes
	// Stops ends responses at the stop token.
	Stops bool
	// TopP and Temperature are 1 where they are 0; Raw are log-probs before both.
	TopP        float64 `yaml:"top p"`
	Temperature float64
	Raw         bool
	// Replay scores along the rollout engine's routes: "routes", or "gates" for its gates too.
	Replay string
	// Forced follows the learner's residual stream along the rollout engine's routes.
	Forced        bool
	Distributions bool
	Gates         bool
}

func (p *pair) probe(e *claim.Env) probe {
	return probe{Params: p.Model.params(e), Rollout: p.Rollout.Numerics, Sequences: p.Sequences.of(e), Tokens: p.Tokens.of(e), Stops: p.Stops, TopP: p.TopP,
		Temperature: p.Temperature, Raw: p.Raw, Distributions: p.Distributions, Gates: p.Gates}
}

// score scores responses as the pair's learner does.
func (p *pair) score(e *claim.Env, b *batch.Batch, q probe) metrics.Gap {
	how := measure.Scoring{Numerics: p.Learner.Numerics, Temperature: p.Temperature, Replay: p.Replay != "", Gates: p.Replay == "gates", Distributions: p.Distributions || p.Replay == "gates"}
	if !how.Replay {
		how.Workers = workers(e)
	}
	return scored(b, q.Params, how)
}

// workers is how many cores a scoring may use.
func workers(e *claim.Env) int {
	if e.Cores == nil {
		return 1
	}
	return e.Cores()
}

// scoredPair is a pair with its responses, as its learner scores them.
type scoredPair struct {
	*batch.Batch
	gap metrics.Gap
	q   probe
	// margins are flipsByMargin, streams streamDifference and confidence byConfidence, each computed once for the figures that ask.
	margins, streams func() [2][]float64
	confidence       func() [3][]float64
}

// scoredPair scores responses of the pair.
func (p *pair) scoredPair(e *claim.Env, b *batch.Batch, q probe) *scoredPair {
	learner, s := p.Learner.Numerics, &scoredPair{Batch: b, gap: p.score(e, b, q), q: q}
	s.margins = sync.OnceValue(func() [2][]float64 { return flipsByMargin(b, q.Params, learner) })
	s.confidence = sync.OnceValue(func() [3][]float64 { return byConfidence(b) })
	s.streams = sync.OnceValue(func() [2][]float64 { return streamDifference(b, q.Params, q.Rollout, learner, p.Forced) })
	return s
}

// number is a metric of one number.
func number(of func(s *scoredPair) float64) func(s *scoredPair) []float64 {
	return func(s *scoredPair) []float64 { return []float64{of(s)} }
}

// pairMetrics are what can be recorded of a scored pair.
var pairMetrics = map[string]func(s *scoredPair) []float64{
	"mean |dlogp|":                      number(func(s *scoredPair) float64 { return s.gap.MeanAbsDlogp }),
	"largest |dlogp|":                   number(func(s *scoredPair) float64 { return s.gap.MaxAbsDlogp }),
	"k1":                                number(func(s *scoredPair) float64 { return s.gap.K1 }),
	"k3":                                number(func(s *scoredPair) float64 { return s.gap.K3 }),
	"exact KL":                          number(func(s *scoredPair) float64 { return s.gap.ExactKL }),
	"1 - Pearson":                       number(func(s *scoredPair) float64 { return 1 - s.gap.Pearson }),
	"perplexity ratio minus 1":          number(func(s *scoredPair) float64 { return s.gap.PPLRatio - 1 }),
	"flips of decisions and tokens":     func(s *scoredPair) []float64 { return []float64{s.gap.FlipRoute, s.gap.FlipToken} },
	"tokens with a flip if independent": number(func(s *scoredPair) float64 { return 1 - elementary.Pow(1-s.gap.FlipRoute, float64(s.Layers)) }),
	"flips per decision":                number(func(s *scoredPair) float64 { return s.gap.FlipRoute }),
	"tokens with a flip":                number(func(s *scoredPair) float64 { return s.gap.FlipToken }),
	"entropy":                           number(func(s *scoredPair) float64 { return stats.Average(s.Old.Entropy) }),
	"tokens":                            number(func(s *scoredPair) float64 { return float64(s.Tokens()) }),
	"tokens beyond 2":                   number(func(s *scoredPair) float64 { return beyond(s.Batch, math.Ln2) }),
	"share outside [0.8, 1.2]":          number(func(s *scoredPair) float64 { return outsideClip(logRatiosOf(s.Batch)) }),
	"tokens outside [0.8, 1.2]": number(func(s *scoredPair) float64 {
		return math.Round(float64(outsideClip(logRatiosOf(s.Batch)) * float64(s.Tokens())))
	}),
	"largest KL of the first 4, 8, 16 and 32 tokens": func(s *scoredPair) []float64 { return largestKL(s.Batch, []int{4, 8, 16, 32}) },

	// Along responses: the prefix lengths, the mean |log product ratio| over the tokens of each, and the mean |dlogp| by quarter of
	// the positions, also matched on probability.
	"prefix lengths": func(s *scoredPair) []float64 { return prefixLengths(s.q.Tokens) },
	"|log product ratio| by length": func(s *scoredPair) []float64 {
		return stats.Map(logProducts(s.Batch, prefixLengths(s.q.Tokens)), func(sums []float64) float64 { return stats.Average(stats.Magnitudes(sums)) })
	},
	"|dlogp| by quarter":          func(s *scoredPair) []float64 { return s.quarters()[0] },
	"|dlogp| by quarter, matched": func(s *scoredPair) []float64 { return s.quarters()[1] },
	// repeated are the shares of repeated runs of four tokens in the halves of responses.
	"repeated, by half": func(s *scoredPair) []float64 {
		half, end := s.q.Tokens/2, s.q.Tokens
		return []float64{metrics.Repeated(s.Batch, 0, half), metrics.Repeated(s.Batch, half, end)}
	},
	"share outside GSPO's clip at 6 to 96 tokens": func(s *scoredPair) []float64 { return clippedByGSPO(s.Batch, []float64{6, 12, 24, 48, 96}) },

	"flips by margin":       func(s *scoredPair) []float64 { return s.margins()[0] },
	"decisions by margin":   func(s *scoredPair) []float64 { return s.margins()[1] },
	"difference by layer":   func(s *scoredPair) []float64 { return s.streams()[0] },
	"jump over the experts": func(s *scoredPair) []float64 { return s.streams()[1] },

	// By tenth of the tokens in the order of their probability; and of the tokens with p < 0.01 and of those with p > 0.99.
	"probability by tenth":    func(s *scoredPair) []float64 { return byProbability(s.Batch, 10)[0] },
	"|log-ratio| by tenth":    func(s *scoredPair) []float64 { return byProbability(s.Batch, 10)[1] },
	"log-ratio by tenth":      func(s *scoredPair) []float64 { return byProbability(s.Batch, 10)[2] },
	"|log-ratio| of extremes": func(s *scoredPair) []float64 { return extremes(s.Batch)[0] },
	"tokens in extremes":      func(s *scoredPair) []float64 { return extremes(s.Batch)[1] },
	"wide tokens in extremes": func(s *scoredPair) []float64 { return extremes(s.Batch)[2] },
	"chi2, full and pruned":   func(s *scoredPair) []float64 { return exactChi2(s.Batch) },

	// By the rollout probability of the token, up to 0.5, 0.9, 0.99, 0.999 and 1.
	"deviation of log-odds by confidence":  func(s *scoredPair) []float64 { return s.confidence()[0] },
	"deviation of log-ratio by confidence": func(s *scoredPair) []float64 { return s.confidence()[1] },
	"tokens by confidence":                 func(s *scoredPair) []float64 { return s.confidence()[2] },

	// Under truncated sampling, of the learner's whole distribution and of what it has on the same support.
	"kept mass":                              number(func(s *scoredPair) float64 { return stats.Average(s.KeptMass) }),
	"mean ratio":                             number(func(s *scoredPair) float64 { return meanRatio(logRatiosOf(s.Batch)) }),
	"mean ratio, same support":               number(func(s *scoredPair) float64 { return meanRatio(maskedRatios(s.Batch)) }),
	"share outside [0.9, 1.1]":               number(func(s *scoredPair) float64 { return outsideTenth(logRatiosOf(s.Batch)) }),
	"share outside [0.9, 1.1], same support": number(func(s *scoredPair) float64 { return outsideTenth(maskedRatios(s.Batch)) }),
	"mean |log-ratio|":                       number(func(s *scoredPair) float64 { return stats.Average(stats.Magnitudes(logRatiosOf(s.Batch))) }),
}

// gaps measures pairs of engines: a figure has a metric of every pair of its group, in their order.
type gaps struct{ Groups []gapGroup }

// gapGroup are pairs that share what Base says.
type gapGroup struct {
	pairs []pair
	// record is the metric by the name of the figure.
	record ordered
}

// UnmarshalYAML reads {base, pairs, record}.
func (g *gapGroup) UnmarshalYAML(n *yaml.Node) error {
	var raw struct {
		Base   pair
		Pairs  []yaml.Node
		Record ordered
	}
	if err := claim.Decode(n, &raw); err != nil {
		return err
	}
	for i := range raw.Pairs {
		p := raw.Base
		for k := 0; k < len(raw.Pairs[i].Content); k += 2 {
			if raw.Pairs[i].Content[k].Value == "model" { // another one, whole
				p.Model = frozen{}
			}
		}
		if err := claim.Decode(&raw.Pairs[i], &p); err != nil {
			return err
		}
		g.pairs = append(g.pairs, p)
	}
	if len(g.pairs) == 0 {
		g.pairs = []pair{raw.Base}
	}
	for i, p := range g.pairs {
		if p.Rollout.Name == "" || p.Learner.Name == "" || p.Sequences == nil || p.Tokens == nil {
			return fmt.Errorf("line %d: pair %d lacks rollout, learner, sequences or tokens", n.Line, i+1)
		}
		if p.Ranks > 1 {
			g.pairs[i].Rollout.Numerics = tensorParallel(p.Rollout.Numerics, p.Ranks)
		}
	}
	for _, r := range raw.Record {
		if pairMetrics[r.value] == nil {
			return fmt.Errorf("line %d: there is no metric %q", n.Line, r.value)
		}
	}
	g.record = raw.Record
	return nil
}

// Measure records the figures, group by group. Pairs with the same rollouts score the same responses.
func (m *gaps) Measure(e *claim.Env, o *claim.Observation) {
	type rollouts struct {
		q probe
		b *batch.Batch
	}
	sampled := map[string]rollouts{}
	for _, g := range m.Groups {
		for _, p := range g.pairs {
			e.Continue()
			same := p
			same.Learner, same.Replay, same.Forced = format{}, "", false
			key := fmt.Sprintf("%+v", same)
			r, ok := sampled[key]
			if !ok {
				q := p.probe(e)
				r = rollouts{q, sample(e, q)}
				sampled[key] = r
			}
			scored := p.scoredPair(e, r.b, r.q)
			for _, f := range g.record {
				o.Append(f.name, pairMetrics[f.value](scored)...)
			}
		}
	}
}

// beyond counts the tokens whose log-ratio is beyond ±bound.
func beyond(b *batch.Batch, bound float64) float64 {
	n := 0.0
	for _, e := range logRatiosOf(b) {
		if math.Abs(e) > bound {
			n++
		}
	}
	return n
}

// outsideClip is the share of tokens whose ratio lies outside [0.8, 1.2].
func outsideClip(e []float64) float64 {
	n := 0
	for _, v := range e {
		if r := elementary.Exp(v); r < 0.8 || r > 1.2 {
			n++
		}
	}
	return float64(n) / float64(len(e))
}

// largestKL is the largest exact KL of the first tokens of a response, by their numbers, mean
// over responses.
func largestKL(b *batch.Batch, lengths []int) []float64 {
	out := make([]float64, len(lengths))
	v := b.Vocab
	for i := range b.Len() {
		from, to := b.Span(i)
		most := 0.0
		for n := from; n < to; n++ {
			kl := 0.0
			for a := n * v; a < (n+1)*v; a++ {
				p := float64(b.DistRoll[a])
				kl += float64(elementary.Exp(p) * (p - float64(b.Old.Dist[a])))
			}
			most = max(most, kl)
			if k := slices.Index(lengths, n-from+1); k >= 0 {
				out[k] += most / float64(b.Len())
			}
		}
	}
	return out
}

// quarters are the mean |dlogp| by quarter of the positions, plain and matched on the rollout
// probability in ten bins of equal weight.
func (s *scoredPair) quarters() [2][]float64 {
	quarter := make([]int, s.Tokens())
	for i := range s.Len() {
		from, to := s.Span(i)
		for n := from; n < to; n++ {
			quarter[n] = (n - from) * 4 / s.q.Tokens
		}
	}
	plain, matched := grouped(4, part{s.Batch, quarter})
	return [2][]float64{plain, matched}
}
