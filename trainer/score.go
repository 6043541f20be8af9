package trainer

import (
	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// score fills Old: the learner's own log-probs before the step's first update, and
// what follows from their pass.
func (s *Session) score() error {
	o := s.scoring()
	o.Distributions, o.SumSquares, o.Router = true, true, s.recipe.Needs(batch.RouterNow)
	if s.predictor != nil {
		o.Predictor = s.predictor.RoutePredictor
	}
	if s.policy.Replay.OfOld() {
		// The routes this pass records, and their gates, are the ones replayed later.
		o.KeepGates = s.policy.Gates == learner.RecordedGates
	}
	score := s.learner.Score
	// With one minibatch this is the forward pass of the first gradient too, unless
	// another pass of the learner comes between.
	if r := &s.recipe; r.Learner.Minibatches == 1 && o.Policy == s.policy && s.perturbed == nil && !r.Needs(batch.ScoreNorm) && !r.Routing.Released {
		score = s.learner.ScoreAhead
	}
	score(&s.batch.Old, &s.batch.Sampled, o)
	old := engines.LogProbs{Column: "logp_old", Values: s.batch.Old.Logp, Who: "the learner", Params: s.learner.Params(), Scales: s.learner.KVScales(), Options: o,
		Field: "learner.numerics", Numerics: s.recipe.Learner.Numerics}
	return old.Check(&s.batch, 0, s.batch.Len())
}

// scoring is how the policies of a step are scored: as the trained one is, before
// there are routes of its own to replay.
func (s *Session) scoring() learner.ScoreOptions {
	o := learner.ScoreOptions{Policy: s.policy}
	if s.policy.Replay.OfOld() {
		o.Replay = learner.ReplayNone
	}
	return o
}

// Score fills dst with what the learner's weights say by now of the step's responses.
func (s *Session) Score(dst *batch.Scored) {
	s.learner.Score(dst, &s.batch.Sampled, learner.ScoreOptions{Policy: s.policy, Earlier: &s.batch.Old, Distributions: true})
}

// scorerOf is a policy in the learner's numerics with those weights.
func (s *Session) scorerOf(p *model.Params) *learner.Scorer {
	scorer := learner.NewScorer(p.Config, s.recipe.Learner.Numerics, s.options.Workers)
	scorer.Publish(p, 0)
	return scorer
}

// reference is the frozen policy of the start.
type reference struct{ *learner.Scorer }

func (f *reference) run(s *Session) error {
	o := s.scoring()
	o.Distributions, o.WithoutRoutes = s.recipe.Needs(batch.DistRef), true
	if s.recipe.Routing.Replay == recipe.ReplayKeep {
		o.Replay = learner.ReplayNone
	}
	f.Score(&s.batch.Ref, &s.batch.Sampled, o)
	return s.checkFrozen("logp_ref", "the reference", &s.batch.Sampled, s.batch.Ref.Logp, f.Scorer, s.initial)
}

// scoreNorms fills ScoreNorm, one backward pass per response.
func (s *Session) scoreNorms() (err error) {
	b := &s.batch
	b.ScoreNorm, err = s.learner.ScoreNorms(b.ScoreNorm, &b.Sampled, learner.StepOptions{Policy: s.policy, Earlier: &b.Old})
	return err
}

// release scores the batch once more with the learner's router choosing, under
// the same weights, and appends the gap without replay, and the variance of the gradient
// with replay and without.
type release struct {
	scored batch.Scored
	weight []float64
}

func (r *release) run(s *Session) error {
	free := s.policy
	free.Replay = learner.ReplayNone
	s.learner.Score(&r.scored, &s.batch.Sampled, learner.ScoreOptions{Policy: free, Distributions: true})
	gap := metrics.Compare(&batch.Batch{Sampled: s.batch.Sampled, Old: r.scored})
	s.metrics = gap.Released(s.metrics)
	if err := r.gradient(s, "gradient/", s.policy, s.batch.Old.Logp); err != nil {
		return err
	}
	return r.gradient(s, "gradient/released_", free, r.scored.Logp)
}

// gradient appends signal and variance of the gradient of the surrogate objective
// mean_i Σ_t ρ_t·A_t, ρ the ratio of the policy, whose log-probs are given, to the rollout engine.
func (r *release) gradient(s *Session, name string, of learner.Policy, logp []float64) error {
	b := &s.batch
	r.weight = batch.Zeroed(r.weight, b.Tokens())
	for n := range masked.Kept(b.Mask) {
		r.weight[n] = elementary.Exp(min(max(logp[n]-b.LogpRoll[n], -20), 20)) * b.Advantage[n]
	}
	signal, power, err := s.learner.GradientMoments(&b.Sampled, r.weight, learner.StepOptions{Policy: of, Earlier: &b.Old})
	s.log(name+"signal", signal)
	s.log(name+"variance", max(power-signal, 0)/float64(max(b.Len()-1, 1)))
	return err
}

// newAnchor makes the stage that fills Anchor, by a recipe's word.
func newAnchor(s *Session) (stage, error) {
	column := func(of func(b *batch.Batch) []float64) stage {
		return stageFunc(func(s *Session) error {
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
	case recipe.AnchorSync:
		return &syncStart{Scorer: s.scorerOf(s.initial)}, nil
	case recipe.AnchorMixture:
		return &mixture{of: stageOf[*behaviour](s)}, nil
	case recipe.AnchorInterpolated:
		// At the start of the batch; every gradient then places it anew.
		s.objective.interpolates = true
		return column(func(b *batch.Batch) []float64 { return loss.Interpolate(nil, b, b.Old.Logp) }), nil
	}
	return column(func(b *batch.Batch) []float64 { return b.Old.Logp }), nil
}

// checkFrozen checks the log-probs that a policy which does not learn gave responses: the
// batch's, or some of them.
func (s *Session) checkFrozen(column, who string, in *batch.Sampled, logp []float64, scorer *learner.Scorer, p *model.Params) error {
	o := s.scoring()
	o.Replay, o.Retention = learner.ReplayNone, false
	x := engines.LogProbs{Column: column, Field: "learner.numerics", Numerics: s.recipe.Learner.Numerics,
		Values: logp, Who: who, Params: p, Scales: scorer.KVScales(), Options: o}
	return x.Check(&batch.Batch{Sampled: *in}, 0, in.Len())
}
