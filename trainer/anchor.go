package trainer

import (
	"slices"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/moe"
	"driftlab/precision/elementary"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// behaviour is pi_v: the learner's numerics at the version of the weights that
// sampled each token. With it the gap of pi_old to mu parts into what the engines
// make of the same weights and what the weights have moved since.
type behaviour struct {
	*learner.Scorer
	scored batch.Scored // in memory of its own: Behaviour may be Old
	// sampled: the rollout engine's log-probs are the learner's at equal weights, bit for bit, so that nothing is scored.
	sampled bool

	versions []int
	rows     []int
	part     batch.Sampled // the responses with tokens of one version
	parts    batch.Scored
}

func newBehaviour(s *Session) (stage, error) {
	if s.recipe.Anchored() != recipe.AnchorBehaviour && s.recipe.Anchored() != recipe.AnchorMixture && s.recipe.Lag() == 0 && s.published == nil {
		return nil, nil
	}
	return &behaviour{Scorer: s.scorerOf(s.initial), sampled: s.recipe.SameEngine() && s.recipe.Routing.Replay == recipe.ReplayNone}, nil
}

// run fills Behaviour. Where the current weights sampled, it is Old, and in equal engines what the rollout engine recorded.
func (p *behaviour) run(s *Session) error {
	b := &s.batch
	p.present(b)
	if len(p.versions) > 1 {
		return p.mix(s)
	}
	version := p.versions[0]
	switch {
	case version == s.learner.Updates():
		b.Behaviour = b.Old
		return nil
	case p.sampled && b.DistRoll != nil && !slices.Contains(b.Stale, true): // which saw keys and values of other weights
		b.Behaviour = batch.Scored{Logp: b.LogpRoll, Dist: b.DistRoll}
		return nil
	}
	if err := p.at(s, version, &p.scored, &b.Sampled); err != nil {
		return err
	}
	b.Behaviour = p.scored
	return nil
}

// present lists the versions of the batch's tokens, oldest first.
func (p *behaviour) present(b *batch.Batch) {
	p.versions = p.versions[:0]
	for _, v := range b.Version {
		if i, found := slices.BinarySearch(p.versions, int(v)); !found {
			p.versions = slices.Insert(p.versions, i, int(v))
		}
	}
}

func (p *behaviour) at(s *Session, version int, dst *batch.Scored, in *batch.Sampled) error {
	return s.scoreWith(p.Scorer, s.weightsAt(version), version, dst, in, true, "logp_behaviour", "the learner at the version that sampled")
}

// scoreWith scores responses, with distributions or without, by a policy that has other weights, and the
// scales that a static KV cache has with them.
func (s *Session) scoreWith(p *learner.Scorer, weights *model.Params, version int, dst *batch.Scored, in *batch.Sampled, distributions bool, column, who string) error {
	p.Publish(weights, version)
	if k := s.recipe.Rollout.KVScales; k.Prompts > 0 {
		p.Calibrate(engines.CalibrationPrompts(s.recipe.Rollout, s.requests), k.Margin)
	}
	o := s.scoring()
	o.Distributions, o.WithoutRoutes = distributions, true
	p.Score(dst, in, o)
	return s.checkFrozen(column, who, in, dst.Logp, p, weights)
}

// mix scores every response with each of the versions that sampled it, and takes
// each token's log-prob from its own.
func (p *behaviour) mix(s *Session) error {
	b := &s.batch
	n, vocab := b.Tokens(), b.Vocab
	p.scored = batch.Scored{Logp: batch.Zeroed(p.scored.Logp, n), Entropy: batch.Zeroed(p.scored.Entropy, n), Dist: batch.Zeroed(p.scored.Dist, n*vocab)}
	for _, version := range p.versions {
		p.rows = p.rows[:0]
		for i := range b.Len() {
			if from, to := b.Span(i); slices.Contains(b.Version[from:to], int32(version)) {
				p.rows = append(p.rows, i)
			}
		}
		b.Sampled.Select(&p.part, p.rows)
		from := &p.parts
		if s.recipe.Routing.FromRollout() {
			p.ownRoutes(int32(version))
		}
		if version == s.learner.Updates() && !s.recipe.Routing.FromRollout() {
			b.Old.Select(from, &b.Sampled, p.rows)
		} else if err := p.at(s, version, from, &p.part); err != nil {
			return err
		}
		for k, i := range p.rows {
			at, _ := p.part.Span(k)
			start, end := b.Span(i)
			for n := start; n < end; n, at = n+1, at+1 {
				if int(b.Version[n]) == version {
					p.scored.Logp[n], p.scored.Entropy[n] = from.Logp[at], from.Entropy[at]
					copy(p.scored.Dist[n*vocab:(n+1)*vocab], from.Dist[at*vocab:])
				}
			}
		}
	}
	b.Behaviour = p.scored
	return nil
}

// ownRoutes leaves, of the routes that are replayed, those of a version. The record
// has the routes of the pass that sampled the token after a row. When the row was read
// again, by this version, it may have visited others, and these are what the version's
// tokens saw: its router chooses them again. Keys that were kept are along the record.
func (p *behaviour) ownRoutes(version int32) {
	b := &p.part
	per := b.Layers * b.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		again := false
		for n := from; n < to; n++ {
			again = again || b.Version[n] == version && !b.Stale[n]
		}
		for n := from; n < to && again; n++ {
			if b.Version[n] == version {
				continue
			}
			for at := n * per; at < (n+1)*per; at++ {
				b.RoutesRoll[at] = moe.NoRoute
			}
			if n == from {
				b.PromptRoutes[i] = nil
				if len(b.PromptGates) > 0 {
					b.PromptGates[i] = nil
				}
			}
		}
	}
}

// engineAndLag measures the two parts of the mismatch separately.
func (s *Session) engineAndLag() error {
	engine, lag := metrics.Parts(&s.batch)
	s.metrics = lag.Part(engine.Part(s.metrics, "engine"), "lag")
	return nil
}

// syncStart is the learner at the last publication (verl's fully asynchronous
// trainer with compute_prox_log_prob).
type syncStart struct {
	*learner.Scorer
	scored batch.Scored
}

// run fills Anchor: Old where nothing has been learnt since.
func (p *syncStart) run(s *Session) error {
	at := stageOf[*asynchronous](s).Newest()
	if at.Updates == s.learner.Updates() {
		s.batch.Anchor = s.batch.Old.Logp
		return nil
	}
	err := s.scoreWith(p.Scorer, at.Params, at.Updates, &p.scored, &s.batch.Sampled, false, "logp_anchor", "the learner at the last publication")
	s.batch.Anchor = p.scored.Logp
	return err
}

// average is the policy of a moving average of the weights (revised PPO-EWMA,
// arXiv:2605.12070):
//
//	m ← β·m + (1−β)·θ after each step,   θ̄ = m/(1 − β^t)
//
// with t the number of weights in it, those of the start among them.
type average struct {
	*learner.Scorer
	decay float64
	count int
	sum   []float64 // m
	mean  *model.Params
	now   batch.Scored
}

func newAverage(s *Session) *average {
	a := &average{Scorer: s.scorerOf(s.initial),
		decay: s.recipe.Decay(), sum: make([]float64, len(s.initial.Trained())), mean: s.initial.Clone()}
	a.follow(s.initial)
	return a
}

// run fills Anchor with the log-probs of the average.
func (a *average) run(s *Session) error {
	err := s.scoreWith(a.Scorer, a.mean, s.learner.Updates(), &a.now, &s.batch.Sampled, false, "logp_anchor", "the moving average")
	s.batch.Anchor = a.now.Logp
	return err
}

func (a *average) follow(p *model.Params) {
	a.count++
	for i, x := range p.Trained() {
		a.sum[i] = float64(a.decay*a.sum[i]) + float64((1-a.decay)*float64(x))
	}
	a.divide()
}

// divide makes the mean of the sum.
func (a *average) divide() {
	weight := 1 - elementary.Pow(a.decay, float64(a.count))
	for i, m := range a.sum {
		a.mean.Trained()[i] = float32(m / weight)
	}
	a.mean.Merge()
}

func (a *average) AppendState(dst []byte) []byte { return method.AppendState(dst, a.count, a.sum) }

func (a *average) SetState(state []byte) error {
	err := method.ReadState(state, &a.count, a.sum)
	a.divide()
	return err
}

func (s *Session) followAverage() error {
	stageOf[*average](s).follow(s.learner.Params())
	return nil
}
