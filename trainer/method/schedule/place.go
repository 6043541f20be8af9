package schedule

// admit submits what the policy allows.
func (c *Core) admit() {
	for range c.policy.Admit(c.view()) {
		c.submit(c.submitted)
	}
}

// submit lets a sample wait for slots.
func (c *Core) submit(origin int) {
	s := &Sample{
		ID: c.submitted, Origin: origin, Version: c.version, Step: c.step, Submitted: c.now, Ended: -1,
		Oldest: -1, Newest: -1, Prompt: c.config.Prompt, Left: c.config.Group,
	}
	for i := range c.width {
		r := &Request{ID: s.ID*c.width + i, Sample: s, Worker: -1, length: -1, allowed: c.quota(), to: -1}
		s.Requests = append(s.Requests, r)
		c.queue = append(c.queue, r)
	}
	c.unfinished += c.width
	c.submitted++
	c.counts.Submitted++
	c.flight = append(c.flight, s)
}

// place gives waiting requests to workers, as the policy says, or the first to the emptiest.
func (c *Core) place() {
	due := c.timer == c.now
	if due {
		c.timer += c.traits.Every
	}
	if c.suspended || len(c.queue) == 0 && !c.published && !due {
		return
	}
	v := c.view()
	v.Due = due
	var moves []Move
	if p, ok := c.policy.(placer); ok {
		moves = p.Place(v)
	} else {
		moves = newPlan(v).queue()
	}
	for _, m := range moves {
		c.move(m)
	}
}

// move puts a request on a worker, at the end of the step it makes. A running one
// takes its keys and values along.
func (c *Core) move(m Move) {
	r := m.Request
	r.to = m.Worker
	if m.Steps > 0 {
		r.allowed = m.Steps
	}
	switch r.at {
	case waiting:
		if c.queue[0] == r {
			c.queue = c.queue[1:]
		} else {
			c.queue = without(c.queue, r)
		}
		c.put(r, joining)
	case active:
		c.leave(r, joining)
	}
}
