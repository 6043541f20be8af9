package trainer

import "driftlab/trainer/method/metrics"

// newReplay makes the stage that weighs what is trained again: a draw that was likely
// counts less, in the advantages of its group.
func newReplay(s *Session) (stage, error) {
	if s.recipe.Replay == nil || !s.recipe.Replay.On() {
		return nil, nil
	}
	return stageFunc((*Session).weighReplays), nil
}

// weighReplays multiplies the advantages of replayed responses, and measures them.
func (s *Session) weighReplays() error {
	a, b := stageOf[*asynchronous](s), &s.batch
	last := a.Last()
	for i, w := range last.Weights {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			b.Advantage[n] *= w
		}
	}
	first := b.Len() - last.Replayed*s.recipe.Rollout.Group
	s.metrics = metrics.Replayed(s.metrics, b, first, last.Weights)
	mean, most := a.Core().Reuse()
	s.log("replay/reuse_mean", mean)
	s.log("replay/reuse_max", float64(most))
	return nil
}
