package measurements

import (
	"fmt"
	"math"
	"slices"

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
	// Ranks spreads the rollout engine over so many tensor-parallel ranks with a bf16 wire.
	Ranks             int
	Sequences, Tokens sizes
	// Stops ends responses at the stop token.
	Stops bool
	TopP  float64 `yaml:"top p"`
	// Replay scores along the rollout engine's routes: "routes", or "gates" for its gates too.
	Replay        string
	Distributions bool
	Gates         bool
}

func (p *pair) probe(e *claim.Env) probe {
	return probe{Params: p.Model.params(e), Rollout: p.Rollout.Numerics, Sequences: p.Sequences.of(e), Tokens: p.Tokens.of(e), Stops: p.Stops, TopP: p.TopP,
		Distributions: p.Distributions, Gates: p.Gates}
}

// score scores responses as the pair's learner does.
func (p *pair) score(e *claim.Env, b *batch.Batch, q probe) metrics.Gap {
	how := measure.Scoring{Numerics: p.Learner.Numerics, Replay: p.Replay != "", Gates: p.Replay == "gates", Distributions: p.Distributions || p.Replay == "gates"}
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

// gapMetrics are what can be recorded of a scored batch.
var gapMetrics = map[string]func(b *batch.Batch, g metrics.Gap) []float64{
	"mean |dlogp|":                  func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.MeanAbsDlogp} },
	"largest |dlogp|":               func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.MaxAbsDlogp} },
	"k3":                            func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.K3} },
	"exact KL":                      func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.ExactKL} },
	"1 - Pearson":                   func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{1 - g.Pearson} },
	"perplexity ratio minus 1":      func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.PPLRatio - 1} },
	"flips of decisions and tokens": func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.FlipRoute, g.FlipToken} },
	"tokens with a flip if independent": func(b *batch.Batch, g metrics.Gap) []float64 {
		return []float64{1 - elementary.Pow(1-g.FlipRoute, float64(b.Layers))}
	},
	"flips per decision":       func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.FlipRoute} },
	"tokens with a flip":       func(_ *batch.Batch, g metrics.Gap) []float64 { return []float64{g.FlipToken} },
	"entropy":                  func(b *batch.Batch, _ metrics.Gap) []float64 { return []float64{stats.Average(b.Old.Entropy)} },
	"tokens":                   func(b *batch.Batch, _ metrics.Gap) []float64 { return []float64{float64(b.Tokens())} },
	"tokens beyond 2":          func(b *batch.Batch, _ metrics.Gap) []float64 { return []float64{beyond(b, math.Ln2)} },
	"share outside [0.8, 1.2]": func(b *batch.Batch, _ metrics.Gap) []float64 { return []float64{outsideClip(logRatiosOf(b))} },
	"tokens outside [0.8, 1.2]": func(b *batch.Batch, _ metrics.Gap) []float64 {
		return []float64{math.Round(float64(outsideClip(logRatiosOf(b)) * float64(b.Tokens())))}
	},
	"largest KL of the first 4, 8, 16 and 32 tokens": func(b *batch.Batch, _ metrics.Gap) []float64 { return largestKL(b, []int{4, 8, 16, 32}) },
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
		if gapMetrics[r.value] == nil {
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
			same.Learner, same.Replay = format{}, ""
			key := fmt.Sprintf("%+v", same)
			r, ok := sampled[key]
			if !ok {
				q := p.probe(e)
				r = rollouts{q, sample(e, q)}
				sampled[key] = r
			}
			gap := p.score(e, r.b, r.q)
			for _, f := range g.record {
				o.Append(f.name, gapMetrics[f.value](r.b, gap)...)
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
