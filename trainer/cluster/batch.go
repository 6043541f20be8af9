package cluster

import (
	"cmp"
	"errors"
	"slices"

	"driftlab/engine/column"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/task"
)

// grade judges samples that are done. Once as many were refused as the recipe allows,
// all are of use until the next update.
func (c *Cluster) grade(command schedule.Command) (o schedule.Outcome, err error) {
	limit := 0
	if s := c.recipe.Rollout.DynamicSampling; s != nil {
		limit = (s.MaxBatches - 1) * c.batch
	}
	all := new(column.Sampled)
	for _, n := range command.Samples {
		s := c.samples[n]
		c.parts = c.parts[:0]
		for _, r := range c.kept(s) {
			c.parts = append(c.parts, r.Sampled)
		}
		column.Join(all, c.parts)
		worth, useless, err := c.judge(all, c.prompt(s.origin))
		if err != nil {
			return o, err
		}
		o.Worth = append(o.Worth, schedule.Worth(worth))
		if useless && c.refused < limit {
			c.refused++
			o.Refused = append(o.Refused, n)
		}
	}
	return o, nil
}

// kept are the responses of a sample that are trained: the first to end, a group's
// worth, in the order of their numbers.
func (c *Cluster) kept(s *sample) []response {
	slices.SortFunc(s.ended, func(a, b response) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.request, b.request))
	})
	kept := slices.Clone(s.ended[:c.recipe.Rollout.Group])
	slices.SortFunc(kept, func(a, b response) int { return cmp.Compare(a.request, b.request) })
	return kept
}

// join puts the samples of an update together, in the order of their submission,
// whatever parts they came in: their gradients are added anyway. Those that are
// trained again follow, as they were drawn.
func (c *Cluster) join(dst *column.Sampled, train schedule.Command) ([]task.Prompt, error) {
	c.parts, c.rows = c.parts[:0], c.rows[:0]
	c.Last, c.refused = Update{Refused: c.refused, Replayed: len(train.Replayed)}, 0
	slices.Sort(c.streamed)
	for k, n := range slices.Concat(c.streamed, train.Replayed) {
		s, again := c.samples[n], k-len(c.streamed)
		if s == nil || len(s.ended) < c.recipe.Rollout.Group || s.trained != (again >= 0) {
			return nil, errors.New("schedule: a sample is to be trained that has not ended, or twice")
		}
		s.trained = true
		weight := 1.0
		if again >= 0 {
			weight = float64(train.Weights[again]) / schedule.WeightUnit
		}
		p := c.prompt(s.origin)
		for _, r := range c.kept(s) {
			c.parts, c.rows = append(c.parts, r.Sampled), append(c.rows, p)
			if c.Last.Replayed > 0 {
				c.Last.Weights = append(c.Last.Weights, weight)
			}
		}
	}
	for _, n := range c.streamed {
		if !c.Core.Keeps(n) {
			delete(c.samples, n)
		}
	}
	c.streamed = c.streamed[:0]
	column.Join(dst, c.parts)
	for i := range dst.Group { // a sample that was drawn twice is two groups
		dst.Group[i] = i / c.recipe.Rollout.Group
	}
	return c.rows, nil
}
