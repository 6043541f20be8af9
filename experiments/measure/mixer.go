package measure

import (
	"fmt"
	"math"
	"slices"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/engine/learner"
	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// mixed is the gap of one mixture to the learner.
type mixed struct {
	free     GapSize
	replayed *GapSize // with the learner on the mixture's routes; nil unless measured
	flips    float64  // share of tokens with other routes than the learner's
}

// mixer scores the tokens of one sampled batch in mixtures of two engines.
type mixer struct {
	Probe                    // with the responses given
	noisy      *model.Params // with the rollout engine's noise; the current ones without any
	pair       Pair
	mechanisms []mechanism

	batch    batch.Batch // as sampled; LogpOld is the learner's
	fault    error       // of what was sampled, if it is not finite
	learner  *learner.Scorer
	restrict engine.Support
	scales   engine.KVScales // of the rollout engine's static KV cache
}

// newMixer samples, and scores in the learner.
func newMixer(r recipe.Recipe, w trainer.Weights, pair Pair, workers int) *mixer {
	r.Rollout.Fleet = nil // a pair is two engines
	r.Rollout.Numerics = pair.Rollout
	_, requests := measureRequests(r, r.Task.New())
	m := &mixer{Probe: Probe{r, w, requests, workers}, noisy: w.Current, pair: pair, mechanisms: mechanismsOf(r, pair)}
	sampler := m.fleet()
	defer sampler.Close()
	sampler.Generate(&m.batch.Sampled, m.Requests, m.Sampling())
	m.fault = sampler.Check(&m.batch)
	if sampler.Noisy() != nil {
		m.noisy = sampler.Noisy()
	}
	m.scales = sampler.Main().KVScales()
	for i := range m.Requests {
		from, to := m.batch.Span(i)
		m.Requests[i].Given = m.batch.Token[from:to]
	}
	m.learner = m.scorer(pair.Learner)
	m.learner.Score(&m.batch.Old, &m.batch.Sampled, m.scoring(0))
	return m
}

func (m *mixer) close() { m.learner.Close() }

// decoder is a rollout engine of other numerics that decodes as the pair's does,
// without drafts; with the noise on its weights, the stale prefixes in its cache and the
// tensors that a sync misses, as the set has them.
func (m *mixer) decoder(n engine.Numerics, s subset) *engines.Fleet {
	q := m.Probe
	q.Recipe.Rollout.Numerics, q.Recipe.Rollout.Speculative = n, nil
	if !m.at(s, prefixesName) {
		q.Recipe.Rollout.SharedPrefixCache = nil
	}
	if !m.at(s, syncName) {
		q.Recipe.Rollout.WeightSync = nil
	}
	if !m.at(s, noiseName) {
		q.Recipe.Rollout.Noise.Start = 0
	}
	return q.fleet()
}

// kvScales are the scales of a mixture's KV cache: those that come with the
// rollout engine's, unless the learner has its own.
func (m *mixer) kvScales(n engine.Numerics, s subset) engine.KVScales {
	switch {
	case m.Recipe.Rollout.KVScales.Prompts == 0 || !n.StaticKV():
		return nil
	case m.pair.Learner.StaticKV() && !m.at(s, kvScalesName):
		return m.learner.KVScales()
	}
	return m.scales
}

// tokens counts what is compared.
func (m *mixer) tokens() int {
	n := 0
	for _, counts := range m.batch.Mask {
		if counts {
			n++
		}
	}
	return n
}

// at reports whether the mechanism of that name is in the set.
func (m *mixer) at(s subset, name string) bool {
	for i := range m.mechanisms {
		if m.mechanisms[i].name == name {
			return s.has(i)
		}
	}
	return false
}

// scoring is how the log-probs of a set's mixture are taken from its logits.
func (m *mixer) scoring(s subset) learner.ScoreOptions {
	r := &m.Recipe
	o := learner.ScoreOptions{Policy: learner.Policy{Temperature: r.LearnerTemperature(), Support: r.Support.Replay}}
	o.Retention = r.ReplaysRetention() || m.at(s, retentionName)
	switch {
	case !m.at(s, logProbsName):
	case r.Rollout.LogProbs == recipe.RawLogProbs:
		o.Temperature = 1
	default:
		o.Temperature, o.Support = r.Rollout.Temperature, r.Rollout.LogProbs == recipe.ProcessedLogProbs
	}
	return o
}

// gap measures one mixture. Its routes are replayed in the learner where a
// report needs that: for one mechanism alone, and for all.
func (m *mixer) gap(s subset) (mixed, error) {
	n := mixture(m.pair, m.mechanisms, s)
	if err := n.Validate(); err != nil {
		return mixed{}, fmt.Errorf("mixture of %s and %s: %w", m.pair.Rollout.Name, m.pair.Learner.Name, err)
	}
	b := m.score(n, s)
	all := subset(1)<<len(m.mechanisms) - 1
	if s == all {
		if err := m.reproduces(b); err != nil {
			return mixed{}, err
		}
	}
	m.relabel(b, s)
	g := metrics.Compare(b)
	if s == 0 && g.Unequal != 0 {
		return mixed{}, fmt.Errorf("zero-update test of %s: scored twice, %g of the log-probs differ", m.pair.Learner.Name, g.Unequal)
	}
	out := mixed{free: sizeOf(&g), flips: g.FlipToken}
	if !m.Recipe.Model.Dense() && (s == all || s.count() == 1) {
		b.Old = batch.Scored{}
		o := m.scoring(0)
		o.Replay = learner.ReplayRollout
		m.learner.Score(&b.Old, &b.Sampled, o)
		g = metrics.Compare(b)
		size := sizeOf(&g)
		out.replayed = &size
	}
	return out, nil
}

func sizeOf(g *metrics.Gap) GapSize { return GapSize{K3: g.K3, MeanAbsDlogp: g.MeanAbsDlogp} }

// score runs a mixture over the sampled tokens. The result has the mixture in
// the columns of the rollout engine and the learner in its own.
func (m *mixer) score(n engine.Numerics, s subset) *batch.Batch {
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: m.batch.Offsets, Prompt: m.batch.Prompt, Token: m.batch.Token, Mask: m.batch.Mask, Support: m.batch.Support, KVKept: m.batch.KVKept, PromptKept: m.batch.PromptKept, KVPlanes: m.batch.KVPlanes, KVWords: m.batch.KVWords}}
	if m.at(s, batchingName) && !n.BatchInvariant() || m.at(s, decodingName) && !n.Attention.PrefillIsDecode() || m.at(s, prefixesName) || m.at(s, syncName) {
		m.decode(b, n, s)
	} else {
		// One pass over all rows: the learner's batching, and everyone's where
		// the batch does not matter.
		scorer := learner.NewScorer(m.Recipe.Model, n, m.Workers)
		defer scorer.Close()
		p := m.Weights.Current
		if m.at(s, noiseName) {
			p = m.noisy
		}
		scorer.Publish(p, 0)
		scorer.SetKVScales(m.kvScales(n, s))
		var mixed batch.Scored
		scorer.Score(&mixed, &b.Sampled, m.scoring(s))
		b.LogpRoll, b.RoutesRoll, b.PromptRoutes = mixed.Logp, mixed.Routes, mixed.PromptRoutes
	}
	b.Old.Logp, b.Old.Routes, b.Old.PromptRoutes = m.batch.Old.Logp, m.batch.Old.Routes, m.batch.Old.PromptRoutes
	return b
}

// decode scores in the rollout engine, token by token in the company in which
// the tokens were sampled.
func (m *mixer) decode(b *batch.Batch, n engine.Numerics, s subset) {
	sampler := m.decoder(n, s)
	defer sampler.Close()
	sampler.Main().SetKVScales(m.kvScales(n, s))
	o := m.scoring(s)
	if !o.Retention && m.batch.PromptKept == nil {
		sampler.Main().SetRetention(rollout.Retention{})
	}
	var decoded batch.Sampled
	sampler.Generate(&decoded, m.Requests, rollout.Sampling{
		Temperature: o.Temperature, TopP: 1, MaxTokens: m.Recipe.Rollout.MaxTokens, Stop: task.EOS, Distributions: o.Support})
	b.LogpRoll, b.RoutesRoll, b.PromptRoutes = decoded.LogpRoll, decoded.RoutesRoll, decoded.PromptRoutes
	b.Layers, b.TopK = decoded.Layers, decoded.TopK
	if !o.Support {
		return
	}
	v := decoded.Vocab
	probs := make([]float32, v)
	for i, kept := range b.Support {
		if kept != nil {
			logp := decoded.DistRoll[i*v : (i+1)*v]
			kernel.Exp(probs, logp)
			b.LogpRoll[i] -= m.restrict.LogMass(logp, probs, kept)
		}
	}
}

// relabel puts what is recorded of drafted tokens in the place of the rollout
// engine's log-probs, in mixtures that have it: as far from the mixture's as the
// one was from the other when they were sampled.
func (m *mixer) relabel(b *batch.Batch, s subset) {
	if m.at(s, draftsName) {
		for n := range b.LogpRoll {
			b.LogpRoll[n] += m.batch.LogpRoll[n] - m.batch.LogpVerifier[n]
		}
	}
}

// verified are the log-probs of the rollout engine itself, whatever it recorded.
func (m *mixer) verified() []float64 {
	if m.batch.LogpVerifier != nil {
		return m.batch.LogpVerifier
	}
	return m.batch.LogpRoll
}

// reproduces is the zero-update test: what the rollout engine recorded and what
// its numerics give for the same tokens are the same bits.
func (m *mixer) reproduces(b *batch.Batch) error {
	for i := range m.batch.Len() {
		from, to := m.batch.Span(i)
		for n := from; n < to; n++ {
			if x, y := m.verified()[n], b.LogpRoll[n]; math.Float64bits(x) != math.Float64bits(y) {
				return fmt.Errorf("zero-update test of %s: response %d, token %d: recorded log-prob %v, scored %v",
					m.pair.Rollout.Name, i, n-from, x, y)
			}
		}
	}
	if !slices.Equal(m.batch.RoutesRoll, b.RoutesRoll) || !slices.EqualFunc(m.batch.PromptRoutes, b.PromptRoutes, slices.Equal) {
		return fmt.Errorf("zero-update test of %s: the same log-probs on other routes", m.pair.Rollout.Name)
	}
	return nil
}
