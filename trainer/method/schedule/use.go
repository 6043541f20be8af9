package schedule

import "slices"

// Use is how much of its time a cluster worked so far. What is under way counts for
// the workers up to now, and for the learner to its end, which is known.
type Use struct {
	// End is the end of what the learner is doing, or now.
	End int `json:"-"`
	// IdleTrainer is the share of the time up to End in which the learner waited,
	// IdleRollout that up to now in which a worker did nothing at all.
	IdleTrainer float64 `json:"idle_trainer"`
	IdleRollout float64 `json:"idle_rollout"`
	// BubbleIntra is the share of slots that were free while their worker decoded,
	// BubbleInter that of the slots of workers that did not.
	BubbleIntra float64 `json:"bubble_intra"`
	BubbleInter float64 `json:"bubble_inter"`
}

// spent are the ticks of the log: the learner's, the workers', those of them spent
// decoding, and these times the slots that did.
type spent struct{ learner, workers, decoding, slots int }

// count takes a span in, or, times -1, out again.
func (b *spent) count(s Span, times int) {
	ticks := times * (s.To - s.From)
	switch {
	case s.Lane == Learner:
		b.learner += ticks
		return
	case s.Activity == Calling:
		return
	case s.Activity == Generating:
		b.decoding += ticks
		b.slots += times * s.Work
	}
	b.workers += ticks
}

// Use adds the time so far up.
func (c *Core) Use() Use {
	b, u := c.spent, Use{End: c.now}
	for _, w := range c.workers {
		switch w.state {
		case decoding:
			busy, _ := w.decodes()
			b.count(Span{Activity: Generating, From: w.from, To: c.now, Work: (c.now - w.from) * busy}, 1)
		case prefilling:
			b.count(Span{Activity: Prefilling, From: w.from, To: c.now}, 1)
		case loading:
			b.count(Span{Activity: Loading, From: c.now, To: w.until}, -1) // is in the log to its end
		}
	}
	if c.learner.busy {
		u.End = max(u.End, c.learner.until)
	}
	if c.now == 0 {
		return u
	}
	workers := float64(float64(c.now) * float64(c.config.Workers))
	slots := float64(workers * float64(c.config.Slots))
	held := float64(float64(b.decoding) * float64(c.config.Slots))
	u.IdleTrainer = 1 - float64(b.learner)/float64(u.End)
	u.IdleRollout = 1 - float64(b.workers)/workers
	u.BubbleIntra = (held - float64(b.slots)) / slots
	u.BubbleInter = (slots - held) / slots
	return u
}

// Forget drops from the log what ended before the learner first trained under the
// version of so many versions ago: a long run's log is as long as a short one's.
// Use and Counts are still of all.
func (c *Core) Forget(versions int) {
	if c.version <= versions {
		return
	}
	first := slices.IndexFunc(c.log, func(s Span) bool {
		return s.Lane == Learner && s.Activity == Training && s.Version >= c.version-versions
	})
	if first < 0 {
		return
	}
	by := c.log[first].From
	kept := c.log[:0]
	for i, s := range c.log {
		last := &c.last[s.Lane+1]
		switch newest := *last == i; {
		case s.To > by:
			if newest {
				*last = len(kept)
			}
			kept = append(kept, s)
		case newest:
			*last = -1
		}
	}
	c.log = kept
}
