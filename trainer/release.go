package trainer

import (
	"driftlab/engine/learner"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// release scores the batch once more with the learner's router choosing, under
// the same weights, and appends the gap without replay.
type release struct{ scored batch.Scored }

func newRelease(s *Session) (stage, error) {
	if !s.recipe.Routing.Released {
		return nil, nil
	}
	return new(release), nil
}

func (r *release) run(s *Session) error {
	free := s.policy
	free.Replay = learner.ReplayNone
	s.learner.Score(&r.scored, &s.batch.Sampled, learner.ScoreOptions{Policy: free, Distributions: true})
	gap := metrics.Compare(&batch.Batch{Sampled: s.batch.Sampled, Old: r.scored})
	s.metrics = gap.Released(s.metrics)
	return nil
}
