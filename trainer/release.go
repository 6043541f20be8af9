package trainer

import (
	"driftlab/engine/learner"
	"driftlab/trainer/diagnose"
)

// release scores the batch once more with the learner's router choosing, under
// the same weights, and appends the gap without replay. The batch keeps its
// columns; the copy shares what was sampled and has memory of its own for what
// is scored.
func (s *session) release() {
	b, free := &s.batch, &s.released
	free.Offsets, free.Prompt, free.Token, free.Mask = b.Offsets, b.Prompt, b.Token, b.Mask
	free.LogpRoll, free.DistRoll, free.Support, free.RoutesRoll = b.LogpRoll, b.DistRoll, b.Support, b.RoutesRoll
	free.KVKept, free.KVPlanes, free.KVWords = b.KVKept, b.KVPlanes, b.KVWords
	s.learner.Score(free, learner.ScoreOptions{
		Column: learner.Old, Temperature: s.recipe.LearnerTemperature(), Replay: learner.ReplayNone,
		Support: s.recipe.Support.Replay, Retention: s.recipe.ReplaysRetention(), Distributions: true,
	})
	gap := diagnose.Compare(free)
	s.metrics = gap.Released(s.metrics)
}
