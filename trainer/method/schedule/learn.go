package schedule

import "slices"

func (c *Core) takeBatch() {
	if c.learner.busy {
		return
	}
	c.sift(c.done)
	batch := c.nextBatch(c.view())
	if len(batch) == 0 {
		if c.traits.Quota > 0 && len(c.parked) == c.unfinished {
			c.unpark() // nothing goes on without another quota
		}
		return
	}
	c.batch = slices.Clone(batch) // the list it may be part of changes
	for _, s := range c.batch {
		s.taken = true
	}
	c.done = slices.DeleteFunc(c.done, func(s *Sample) bool { return s.taken })
	c.taken += len(batch)
	c.learner.taken += len(batch)
	if c.traits.Colocated {
		c.suspended = true
		for _, w := range c.ordered {
			c.interrupt(w)
		}
	}
	train := Command{Kind: Train, Version: c.version, Update: true, Old: c.old()}
	if c.traits.Stream > 0 {
		train.Update = c.learner.taken == c.config.Batch
	}
	for _, s := range c.batch {
		train.Samples = append(train.Samples, s.ID)
	}
	c.replay(&train)
	c.learner.busy, c.learner.trains, c.learner.update = true, true, train.Update
	c.emit(train)
}

// nextBatch is what the learner trains now, nil to wait.
func (c *Core) nextBatch(v View) []*Sample {
	b, own := c.policy.(batcher)
	switch {
	case c.traits.Waits && v.Unpublished >= c.traits.Interval:
		return nil
	case own:
		return b.Batch(v)
	case c.traits.Stream > 0:
		return batchStreamed(v, c.traits.Stream)
	case c.traits.InOrder:
		return batchWhole(v)
	}
	return batchFirst(v)
}

// training takes in that the learner has its batch: it counts what that is made
// of, and the time that it takes.
func (c *Core) training() {
	n := &c.counts
	tokens := 0
	for _, s := range c.batch {
		lag := s.Lag(c.version)
		n.Trained++
		n.Lags = count(n.Lags, lag, 1)
		n.Span = max(n.Span, s.Newest-s.Oldest)
		n.TrainedTokens += s.Tokens
		n.PromptTokens += s.Prompt * c.config.Group
		tokens += s.Tokens + s.Prompt*c.config.Group
		for _, r := range s.Requests {
			if r.at != finished {
				continue
			}
			n.Responses++
			if len(r.Pieces) > 1 {
				n.Mixed++
			}
			for _, p := range r.Pieces {
				n.TokenLags = count(n.TokenLags, c.version-p.Version, p.Tokens)
			}
		}
	}
	for _, s := range c.replayed {
		n.Replayed++
		n.ReplayedTokens += s.Tokens
		tokens += s.Tokens + s.Prompt*c.config.Group
	}
	costs := c.config.Costs
	began := c.now + c.traits.Service*len(c.batch)
	scored := began + c.scoring(tokens)
	trained := scored + costs.train(tokens, c.config.Trainers)
	if c.learner.update {
		trained += charged(oldLogProbs[c.old()].Averages, costs.Copy)
	}
	c.spend(Span{Lane: Learner, Activity: Scoring, From: began, To: scored, Version: c.version})
	c.spend(Span{Lane: Learner, Activity: Training, From: scored, To: trained, Version: c.version})
	c.learner.until = trained
	n.Copies = max(n.Copies, c.copies())
	c.remember()
	c.batch = nil
}

// learned ends what the learner did, if it is time.
func (c *Core) learned() {
	l := &c.learner
	if l.until != c.now {
		return
	}
	l.busy, l.until = false, never
	if !l.trains {
		return
	}
	l.trains = false
	if l.update {
		c.step++
		c.unpublished++
		l.taken = 0
	}
	if c.suspended {
		c.suspended = false
		c.touched = append(c.touched, c.sequence...)
	}
}

// considerPublishing publishes what the learner made, if the policy wants it.
func (c *Core) considerPublishing() {
	if c.learner.busy || c.unpublished == 0 {
		return
	}
	if c.unpublished < c.traits.Interval || c.traits.Waits && len(c.flight) > 0 {
		return
	}
	c.version++
	c.unpublished = 0
	c.trainedBefore = c.accepted - len(c.done)
	c.published = true
	c.emit(Command{Kind: Publish, Version: c.version, Oldest: c.oldestVersion()})
}

// oldestVersion is the oldest that anything still needs.
func (c *Core) oldestVersion() int {
	oldest := c.oldestIn(c.flight, c.done, c.buffer)
	for _, w := range c.workers {
		oldest = min(oldest, w.Version)
	}
	for _, d := range c.mail {
		oldest = min(oldest, d.version)
	}
	return oldest
}

// oldestIn is the oldest version that is served next or has tokens in samples.
func (c *Core) oldestIn(lists ...[]*Sample) int {
	oldest := max(0, c.version-c.traits.Behind)
	for _, list := range lists {
		for _, s := range list {
			if s.Oldest >= 0 {
				oldest = min(oldest, s.Oldest)
			}
		}
	}
	return oldest
}

// publishes sends the weights to the workers: at once, or along a chain.
func (c *Core) publishes(command Command) {
	if push := c.config.Costs.Push + charged(oldLogProbs[c.old()].Keeps, c.config.Costs.Copy); push > 0 {
		c.learner.busy, c.learner.until = true, c.now+push
		c.spend(Span{Lane: Learner, Activity: Pushing, From: c.now, To: c.now + push, Version: c.version})
	}
	if c.config.Replay.Clear {
		c.buffer = nil
	}
	c.sift(c.flight)
	c.sift(c.done)
	c.unpark()
	version := max(0, command.Version-c.traits.Behind)
	for i, w := range c.ordered {
		if c.traits.Hop > 0 {
			c.mail = append(c.mail, delivery{c.now + (i+1)*c.traits.Hop, w.ID, version})
		} else {
			c.deliver(w, version)
		}
	}
	c.counts.Copies = max(c.counts.Copies, c.copies())
}

// deliver lets a worker do what the policy wants of it when weights reach it.
func (c *Core) deliver(w *Worker, version int) {
	w.want = version
	if !w.Stale() {
		return
	}
	w.reload = c.traits.Reload
	switch w.reload {
	case Interrupt:
		c.interrupt(w)
		return
	case Drain:
		c.giveBack(w)
	}
	if w.state == resting {
		c.settle(w)
	}
}

// giveBack lets the requests that a worker has not begun wait for another.
func (c *Core) giveBack(w *Worker) {
	var kept, back []*Request
	for _, r := range w.joins {
		if r.cached {
			kept = append(kept, r)
			continue
		}
		r.at, r.Worker = waiting, -1
		c.recount(r.Sample)
		back = append(back, r)
	}
	w.joins = kept
	c.queue = slices.Insert(c.queue, 0, back...)
}

// sift asks a filter about samples.
func (c *Core) sift(samples []*Sample) {
	f, ok := c.policy.(filter)
	if !ok {
		return
	}
	for _, s := range slices.Clone(samples) {
		if fate := f.Verdict(c.view(), s); fate != Take {
			c.refuse(s, fate)
		}
	}
}

// unpark lets all parked requests wait for a slot, before all others. Nothing of
// theirs is in a cache.
func (c *Core) unpark() {
	for _, r := range c.parked {
		r.at, r.allowed = waiting, c.quota()
	}
	c.queue = slices.Insert(c.queue, 0, c.parked...)
	c.parked = c.parked[:0]
	if c.traits.Cache != KeepStale {
		for _, r := range c.queue {
			r.cached = false
		}
	}
}

// quota is the number of steps a request may make, -1 for any.
func (c *Core) quota() int {
	if c.traits.Quota > 0 {
		return c.traits.Quota
	}
	return -1
}
