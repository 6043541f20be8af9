package trainer

import (
	"driftlab/trainer/cluster"
	"driftlab/trainer/engines"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/metrics"
)

// asynchronous is the rollout side of a session whose schedule runs on a clock:
// engines that a scheduler's core commands. The fleet lends them its workers, and
// samples what a step asks for beside its batch.
type asynchronous struct {
	*cluster.Cluster
	fleet *engines.Fleet
}

// newAsynchronous makes the engines of a recipe.
func newAsynchronous(s *Session) (stage, error) {
	c, err := cluster.New(s.recipe, s.source, s.fleet.Main(), s.initial, newJudge(s.recipe))
	if err != nil {
		return nil, err
	}
	s.published = c.After
	return &asynchronous{c, s.fleet}, nil
}

// run samples the step's responses, and whatever is sampled ahead of them.
func (a *asynchronous) run(s *Session) (err error) {
	if s.prompts, err = a.Next(&s.batch.Sampled, s.learner.Params(), s.learner.Updates()); err != nil {
		return err
	}
	newest := a.Newest()
	a.fleet.Publish(newest.Params, newest.Updates, 0, nil)
	s.metrics = metrics.Ages(s.metrics, &s.batch)
	s.metrics = a.figures(s.metrics)
	s.observePool(s.batch.Step, s.recipe.Rollout.Prompts)
	if s.recipe.Rollout.DynamicSampling != nil {
		s.log("rollout/refused_groups", float64(a.Last().Refused))
	}
	return a.fleet.Check(&s.batch)
}

// Close releases the engines.
func (a *asynchronous) Close() { a.fleet.Close() }

// figures appends what the clock says of the run so far: all of it counts, the
// filling of the pipeline too. The step's training is to come, and its end is known.
func (a *asynchronous) figures(dst []batch.Metric) []batch.Metric {
	n, use := a.Core().Counts(), a.Core().Use()
	add := func(name string, value float64) { dst = append(dst, batch.Metric{Name: name, Value: value}) }
	add("clock/ticks", float64(use.End))
	add("clock/tokens_per_s", 1e6*float64(n.TrainedTokens)/float64(use.End))
	add("clock/idle_trainer", use.IdleTrainer)
	add("clock/idle_rollout", use.IdleRollout)
	add("clock/bubble_intra", use.BubbleIntra)
	add("clock/bubble_inter", use.BubbleInter)
	add("clock/wasted_tokens", float64(n.WastedTokens))
	add("clock/reprefilled_tokens", float64(n.ReprefilledTokens))
	add("clock/weight_copies", float64(n.Copies))
	add("clock/dropped_samples", float64(n.Dropped+n.Requeued))
	if n.Calls > 0 {
		config := a.Config()
		add("clock/tool_calls", float64(n.Calls))
		add("clock/tool_wait", float64(n.WaitedTicks)/(float64(config.Workers)*float64(config.Slots)*float64(max(a.Core().Now(), 1))))
	}
	if sampled := a.MeanLength(); sampled > 0 {
		add("clock/trained_length_ratio", float64(n.TrainedTokens)/float64(n.Responses)/sampled)
	}
	return dst
}
