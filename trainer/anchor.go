package trainer

import (
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/batch"
	"driftlab/trainer/diagnose"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"
)

// behaviour is pi_v: the learner's numerics at the version of the weights that
// sampled. With it the gap of pi_old to mu parts into what the engines make of the
// same weights and what the weights have moved since.
type behaviour struct {
	*learner.Scorer
	scored batch.Scored // in memory of its own: Behaviour may be Old
}

func newBehaviour(s *Session) (stage, error) {
	if s.recipe.Anchored() != recipe.AnchorBehaviour && s.schedule.MaxLag() == 0 {
		return nil, nil
	}
	return &behaviour{Scorer: s.scorerOf(s.initial)}, nil
}

// run fills Behaviour. Where the current weights sampled, it is Old.
func (p *behaviour) run(s *Session) error {
	version, weights := s.versions.at(s.learner.Updates() - s.schedule.Lag(s.batch.Step))
	if version == s.learner.Updates() {
		s.batch.Behaviour = s.batch.Old
		return nil
	}
	s.publishTo(p.Scorer, weights, version)
	o := s.scoring()
	o.Distributions, o.WithoutRoutes = true, true
	p.Score(&p.scored, &s.batch.Sampled, o)
	s.batch.Behaviour = p.scored
	return s.checkFrozen("logp_behaviour", "the learner at the version that sampled", s.batch.Behaviour.Logp, p.Scorer, weights)
}

// publishTo gives a policy that scores other weights, and the scales that a static
// KV cache has with them.
func (s *Session) publishTo(p *learner.Scorer, weights *model.Params, version int) {
	p.Publish(weights, version)
	if k := s.recipe.Rollout.KVScales; k.Prompts > 0 {
		p.Calibrate(engines.CalibrationPrompts(s.recipe.Rollout, s.requests), k.Margin)
	}
}

// newParts makes the stage that logs the two parts of the gap.
func newParts(s *Session) (stage, error) {
	if stageOf[*behaviour](s) == nil {
		return nil, nil
	}
	return doing(func(s *Session) error {
		engine, lag := diagnose.Parts(&s.batch)
		s.metrics = lag.Part(engine.Part(s.metrics, "engine"), "lag")
		return nil
	}), nil
}

// newAnchor makes the stage that fills Anchor, by a recipe's word.
func newAnchor(s *Session) (stage, error) {
	column := func(of func(b *batch.Batch) []float64) stage {
		return doing(func(s *Session) error {
			s.batch.Anchor = of(&s.batch)
			return nil
		})
	}
	switch s.recipe.Anchored() {
	case recipe.AnchorBehaviour:
		return column(func(b *batch.Batch) []float64 { return b.Behaviour.Logp }), nil
	case recipe.AnchorRollout:
		return column(func(b *batch.Batch) []float64 { return b.LogpRoll }), nil
	case recipe.AnchorEWMA:
		return newAverage(s), nil
	}
	return column(func(b *batch.Batch) []float64 { return b.Old.Logp }), nil
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
		decay: s.recipe.Decay(), sum: make([]float64, len(s.initial.Theta)), mean: s.initial.Clone()}
	a.follow(s.initial)
	return a
}

// run fills Anchor with the log-probs of the average.
func (a *average) run(s *Session) error {
	s.publishTo(a.Scorer, a.mean, s.learner.Updates())
	o := s.scoring()
	o.WithoutRoutes = true
	a.Score(&a.now, &s.batch.Sampled, o)
	s.batch.Anchor = a.now.Logp
	return s.checkFrozen("logp_anchor", "the moving average", a.now.Logp, a.Scorer, a.mean)
}

// follow takes the weights into the average.
func (a *average) follow(p *model.Params) {
	a.count++
	weight := 1 - elementary.Pow(a.decay, float64(a.count))
	for i, x := range p.Theta {
		a.sum[i] = float64(a.decay*a.sum[i]) + float64((1-a.decay)*float64(x))
		a.mean.Theta[i] = float32(a.sum[i] / weight)
	}
}

// AppendState appends the sums.
func (a *average) AppendState(dst []byte) []byte { return method.AppendState(dst, a.count, a.sum) }

// SetState takes what AppendState appended.
func (a *average) SetState(state []byte) error {
	if err := method.ReadState(state, &a.count, a.sum); err != nil {
		return err
	}
	weight := 1 - elementary.Pow(a.decay, float64(a.count))
	for i, m := range a.sum {
		a.mean.Theta[i] = float32(m / weight)
	}
	return nil
}

// newAnchorFollow makes the stage that lets a moving average follow the weights.
func newAnchorFollow(s *Session) (stage, error) {
	a := stageOf[*average](s)
	if a == nil {
		return nil, nil
	}
	return doing(func(s *Session) error {
		a.follow(s.learner.Params())
		return nil
	}), nil
}
