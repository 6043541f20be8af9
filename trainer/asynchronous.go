package trainer

import (
	"math"

	"driftlab/engine/rollout"
	"driftlab/trainer/cluster"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// asynchronous is the rollout side of a session whose schedule runs on a clock:
// engines that a scheduler's core commands. The fleet lends them its workers, and
// samples what a step asks for in addition to its batch.
type asynchronous struct {
	*cluster.Cluster
	fleet *engines.Fleet
}

func newAsynchronous(s *Session) (stage, error) {
	c, err := cluster.New(s.recipe, s.source, s.fleet.Main(), s.initial, newJudge(s.recipe))
	if err != nil {
		return nil, err
	}
	s.published = c.After
	s.fleet.Main().SetSharedPrefixCache(rollout.SharedPrefixCache{}) // the workers have theirs
	return &asynchronous{c, s.fleet}, nil
}

// run samples the step's responses, and whatever is sampled ahead of them.
func (a *asynchronous) run(s *Session) (err error) {
	if s.prompts, err = a.Next(&s.batch.Sampled, s.learner.Params(), s.learner.Updates()); err != nil {
		return err
	}
	newest := a.Newest()
	a.fleet.Publish(newest.Published, newest.Params, newest.Updates, 0, nil)
	s.metrics = metrics.Ages(s.metrics, &s.batch)
	a.figures(s)
	s.observePool(s.batch.Step, s.recipe.Rollout.Prompts)
	if s.recipe.Rollout.DynamicSampling != nil {
		s.log("rollout/refused_groups", float64(a.Last.Refused))
	}
	return a.fleet.Check(&s.batch)
}

func (a *asynchronous) Close() { a.fleet.Close() }

// figures logs what the clock says of the run so far: all of it counts, the
// filling of the pipeline too. The step's training is to come, and its end is known.
func (a *asynchronous) figures(s *Session) {
	n, use := a.Core.Counts(), a.Core.Use()
	s.log("clock/ticks", float64(use.End))
	s.log("clock/tokens_per_s", 1e6*float64(n.TrainedTokens)/float64(use.End))
	s.log("clock/idle_trainer", use.IdleTrainer)
	s.log("clock/idle_rollout", use.IdleRollout)
	s.log("clock/bubble_intra", use.BubbleIntra)
	s.log("clock/bubble_inter", use.BubbleInter)
	s.log("clock/wasted_tokens", float64(n.WastedTokens))
	s.log("clock/reprefilled_tokens", float64(n.ReprefilledTokens))
	s.log("clock/weight_copies", float64(n.Copies))
	s.log("clock/dropped_samples", float64(n.Dropped+n.Requeued))
	if n.Calls > 0 {
		config := a.Config()
		s.log("clock/tool_calls", float64(n.Calls))
		s.log("clock/tool_wait", float64(n.WaitedTicks)/(float64(config.Workers)*float64(config.Slots)*float64(max(a.Core.Now(), 1))))
	}
	if sampled := a.MeanLength(); sampled > 0 {
		s.log("clock/trained_length_ratio", float64(n.TrainedTokens)/float64(n.Responses)/sampled)
	}
}

// weighReplays multiplies the advantages of replayed responses, and measures them: a
// draw that was likely counts less.
func (s *Session) weighReplays() error {
	a, b := stageOf[*asynchronous](s), &s.batch
	last := a.Last
	for i, w := range last.Weights {
		from, to := b.Span(i)
		for n := from; n < to; n++ {
			b.Advantage[n] *= w
		}
	}
	first := b.Len() - last.Replayed*s.recipe.Rollout.Group
	s.metrics = metrics.Replayed(s.metrics, b, first, last.Weights)
	mean, most := a.Core.Reuse()
	s.log("replay/reuse_mean", mean)
	s.log("replay/reuse_max", float64(most))
	return nil
}

// newJudge returns what a recipe makes of a prompt group as soon as it is done: its
// worth to a replay, and whether dynamic sampling refuses it. Its rewards are those
// that the group will have in its batch, since no part that remembers is allowed here.
func newJudge(r recipe.Recipe) cluster.Judge {
	g := newGrader(r)
	var b batch.Batch
	var prompts []task.Prompt
	return func(responses *batch.Sampled, p task.Prompt) (worth float64, refused bool, err error) {
		b.Sampled, prompts = *responses, prompts[:0]
		for range b.Len() {
			prompts = append(prompts, p)
		}
		if err := g.grade(&b, prompts); err != nil {
			return 0, false, err
		}
		for _, x := range b.Reward {
			worth += math.Abs(x) / float64(b.Len())
		}
		return worth, refuses(r.Rollout.DynamicSampling, &b), nil
	}
}

// refuses reports whether a prompt group has nothing to teach.
func refuses(s *recipe.DynamicSampling, b *batch.Batch) bool {
	if s == nil {
		return false
	}
	for i := range b.Len() {
		teaches := b.Correct[i] != b.Correct[0]
		switch s.Refuse {
		case recipe.RefuseEqualReward:
			teaches = b.Reward[i] != b.Reward[0]
		case recipe.RefuseSolved:
			teaches = !b.Correct[i]
		}
		if teaches {
			return false
		}
	}
	return true
}
