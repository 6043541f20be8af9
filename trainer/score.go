package trainer

import (
	"driftlab/engine/learner"
	"driftlab/trainer/batch"
	"driftlab/trainer/loss"
	"driftlab/trainer/recipe"
)

// score fills the columns of the policies that are fixed for the step: pi_old,
// the reference, the teacher; and what follows from their passes.
func (s *session) score() error {
	r, b := &s.recipe, &s.batch
	o := learner.ScoreOptions{Policy: s.policy, Distributions: true, SumSquares: true}
	if s.policy.Replay == learner.ReplayOld {
		// The routes this pass records, and their gates, are the ones replayed later.
		o.Replay, o.KeepGates = learner.ReplayNone, s.policy.Gates == learner.RecordedGates
	}
	s.learner.Score(&b.Old, &b.Sampled, o)
	asScored := o
	if s.critic != nil {
		b.Value = s.critic.values(b.Value, b, s.learner.Hidden())
	}
	if s.reference != nil {
		o.Distributions, o.SumSquares, o.WithoutRoutes = s.columns.distRef, false, true
		if r.Routing.Replay == recipe.ReplayKeep {
			o.Replay = learner.ReplayNone
		}
		s.reference.Score(&b.Ref, &b.Sampled, o)
	}
	if s.teacher != nil {
		// Another model's routes mean nothing to it, nor do masks of another cache.
		s.teacher.Score(&b.Teacher, &b.Sampled, learner.ScoreOptions{
			Policy: learner.Policy{Temperature: s.policy.Temperature, Support: s.policy.Support}, WithoutRoutes: true})
	}
	err := s.checkScored(asScored)
	if err != nil || !s.columns.scoreNorm {
		return err
	}
	b.ScoreNorm, err = s.learner.ScoreNorms(b.ScoreNorm, &b.Sampled, learner.StepOptions{Policy: s.policy, Earlier: &b.Old})
	return err
}

// penalise takes a KL penalty that belongs into the reward from TokenReward,
// and appends its figures.
func (s *session) penalise() error {
	if !s.penalised() {
		return nil
	}
	coef := s.objective.kl.Coefficient() // before the controller moves it
	kl, err := s.objective.kl.AddReward(&s.batch)
	if err != nil {
		return err
	}
	s.metrics = append(s.metrics, batch.Metric{Name: "actor/reward_kl_penalty", Value: kl},
		batch.Metric{Name: "actor/reward_kl_penalty_coeff", Value: coef})
	return nil
}

// penalised reports whether the KL term acts in the reward.
func (s *session) penalised() bool {
	switch kl := s.objective.kl.(type) {
	case *loss.KLTerm:
		return kl.In == loss.InReward
	case *loss.ExactKL:
		return kl.In == loss.InReward
	}
	return false
}

// estimate fills the advantages. Estimators that work on one number per
// response see the penalty too: for them a response's reward is the sum over
// its tokens, as in verl. The column keeps the score without it.
func (s *session) estimate() error {
	b := &s.batch
	score := b.Reward
	if s.penalised() {
		s.penalisedReward = s.penalisedReward[:0]
		for i := range b.Len() {
			from, to := b.Span(i)
			sum := 0.0
			for _, r := range b.TokenReward[from:to] {
				sum += r
			}
			s.penalisedReward = append(s.penalisedReward, sum)
		}
		b.Reward = s.penalisedReward
	}
	err := s.estimator.Estimate(b)
	b.Reward = score
	if err == nil && s.critic != nil {
		s.critic.fit(b)
	}
	return err
}
