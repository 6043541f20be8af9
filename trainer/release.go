package trainer

import (
	"driftlab/engine/learner"
	"driftlab/trainer/batch"
	"driftlab/trainer/diagnose"
)

// release scores the batch once more with the learner's router choosing, under
// the same weights, and appends the gap without replay.
func (s *session) release() {
	free := s.policy
	free.Replay = learner.ReplayNone
	s.learner.Score(&s.released, &s.batch.Sampled, learner.ScoreOptions{Policy: free, Distributions: true})
	gap := diagnose.Compare(&batch.Batch{Sampled: s.batch.Sampled, Old: s.released})
	s.metrics = gap.Released(s.metrics)
}
