package schedule

import (
	"cmp"
	"fmt"
	"slices"
)

// wake is what happens to a worker when its time has come.
func (c *Core) wake(w *Worker) {
	switch w.state {
	case decoding:
		c.decode(w, (c.now-w.from)/w.step)
	case prefilling:
		c.spend(Span{Lane: w.ID, Activity: Prefilling, From: w.from, To: c.now, Version: w.Version})
		c.settle(w)
	default:
		c.stopsCalling(w)
		c.settle(w)
	}
}

// stopsCalling ends the time in which a worker had nothing to do but wait for tools.
func (c *Core) stopsCalling(w *Worker) {
	if w.state == calling {
		c.spend(Span{Lane: w.ID, Activity: Calling, From: w.from, To: c.now, Version: w.Version})
		w.state = resting
	}
}

// decode asks for the steps that a worker has made by now.
func (c *Core) decode(w *Worker, steps int) {
	c.agenda.set(w, never)
	c.emit(Command{Kind: Decode, Worker: w.ID, Steps: steps, Version: w.Version, Requests: w.callers()})
}

// settle decides what a worker does next, at the end of a step, a prefill or a load.
func (c *Core) settle(w *Worker) {
	w.state = resting
	c.agenda.set(w, never)
	c.answered(w)
	switch {
	case c.suspended:
	case w.leaves > 0:
		c.evict(w)
	case w.Stale() && (w.reload == Interrupt || !w.occupied()):
		c.emit(Command{Kind: Load, Worker: w.ID, Version: w.want, Cache: c.traits.Cache})
	case len(w.joins) > 0:
		start := Command{Kind: Start, Worker: w.ID, Version: w.Version}
		for _, r := range w.joins {
			start.Requests = append(start.Requests, r.ID)
			start.Origins = append(start.Origins, r.Sample.Origin)
			start.Cached = append(start.Cached, r.cached)
		}
		c.emit(start)
	case w.debt > 0:
		c.begin(w, prefilling, w.debt)
		w.debt = 0
	case len(w.Active) > 0:
		c.run(w)
	}
}

// occupied reports whether a response that has begun is with the worker, or on its
// way there.
func (w *Worker) occupied() bool {
	return len(w.Active) > 0 || w.coming > 0 || slices.ContainsFunc(w.joins, func(r *Request) bool { return r.cached })
}

// begin puts a worker into a state that lasts so long.
func (c *Core) begin(w *Worker, s state, ticks int) {
	w.state, w.from = s, c.now
	c.agenda.set(w, c.now+ticks)
}

// run decodes until something is known to happen.
func (c *Core) run(w *Worker) {
	n, back := w.decodes()
	if n == 0 {
		c.begin(w, calling, back-c.now)
		return
	}
	w.step = c.config.Costs.Decode(n, c.config.Engine) + charged(oldLogProbs[c.old()].Decoded, c.config.Costs.Logp(n, c.config.Engine))
	if c.traits.Yield > 0 {
		w.step = max(1, w.step*1000/c.traits.Yield)
	}
	steps := never
	for _, r := range w.Active {
		if !r.calling {
			steps = min(steps, r.next())
		}
	}
	if back < never {
		steps = min(steps, ceilDiv(back-c.now, w.step))
	}
	c.begin(w, decoding, steps*w.step)
}

// interrupt stops a worker now; the step under way is lost. What it did is asked for.
func (c *Core) interrupt(w *Worker) {
	switch w.state {
	case decoding:
		if steps := (c.now - w.from) / w.step; steps > 0 {
			c.decode(w, steps)
			return
		}
	case prefilling:
		c.spend(Span{Lane: w.ID, Activity: Prefilling, From: w.from, To: c.now, Version: w.Version})
		w.debt += w.until - c.now
	case calling:
		c.stopsCalling(w)
	case loading:
		return
	}
	c.settle(w)
}

// pause lets a worker look around at the end of the step that it is making.
func (c *Core) pause(w *Worker) {
	switch w.state {
	case resting, calling:
		c.stopsCalling(w)
		c.settle(w)
	case decoding:
		steps := ceilDiv(c.now-w.from, w.step)
		if end := w.from + steps*w.step; end > c.now {
			c.agenda.set(w, min(w.until, end))
		} else if steps > 0 {
			c.decode(w, steps)
		} else {
			c.settle(w)
		}
	}
}

// act lets the workers look around to which something was given or taken away.
func (c *Core) act() {
	touched := slices.Clone(c.touched)
	c.touched = c.touched[:0]
	slices.SortFunc(touched, func(a, b int) int { return cmp.Compare(c.agenda.rank[a], c.agenda.rank[b]) })
	for _, id := range slices.Compact(touched) {
		c.pause(c.workers[id])
	}
}

// started takes in the requests that entered a worker.
func (c *Core) started(command Command, o Outcome) error {
	w := c.workers[command.Worker]
	n := len(command.Requests)
	if o.Prompts != nil && len(o.Prompts) != n || o.Lengths != nil && len(o.Lengths) != n || o.Calls != nil && len(o.Calls) != n {
		return fmt.Errorf("schedule: a start of %d requests was answered with %d prompts, %d lengths and %d lists of calls", n, len(o.Prompts), len(o.Lengths), len(o.Calls))
	}
	ticks := w.debt
	w.debt = 0
	for i, r := range w.joins {
		if o.Prompts != nil {
			r.Sample.Prompt = o.Prompts[i]
		}
		if o.Lengths != nil {
			if r.length = o.Lengths[i]; r.length <= r.Made {
				return fmt.Errorf("schedule: request %d has %d tokens and is to have %d", r.ID, r.Made, r.length)
			}
		}
		if o.Calls != nil && c.config.Costs.tools() {
			r.calls = o.Calls[i]
		}
		if r.cached {
			ticks += c.config.Costs.Migrate
		} else {
			ticks += c.config.Costs.Prefill(r.Prefix(), c.config.Engine)
			if r.Made > 0 {
				c.counts.ReprefilledTokens += r.Prefix()
			}
		}
		r.at, r.cached = active, false
	}
	w.Active = append(w.Active, w.joins...)
	w.joins = w.joins[:0]
	c.begin(w, prefilling, ticks)
	return nil
}

// decoded takes in the steps that a worker made.
func (c *Core) decoded(command Command, o Outcome) error {
	w := c.workers[command.Worker]
	n := command.Steps
	ticks := n * w.step
	busy, _ := w.decodes()
	c.spend(Span{Lane: w.ID, Activity: Generating, From: w.from, To: w.from + ticks, Version: w.Version, Work: ticks * busy})
	w.from += ticks
	for _, r := range w.Active {
		if r.calling {
			continue
		}
		r.Made += n
		if r.allowed > 0 {
			r.allowed -= n
		}
	}
	c.counts.DecodedTokens += n * busy
	for _, id := range o.Finished {
		i := slices.IndexFunc(w.Active, func(r *Request) bool { return r.ID == id })
		if i < 0 {
			return fmt.Errorf("schedule: request %d is said to have ended on worker %d, where it is not", id, w.ID)
		}
		c.finish(w, w.Active[i])
	}
	if err := c.called(w, o.Called); err != nil {
		return err
	}
	for _, r := range w.Active {
		if r.length == r.Made {
			return fmt.Errorf("schedule: request %d has all of its %d tokens and has not ended", r.ID, r.length)
		}
		if r.allowed == 0 && r.at == active {
			then := waiting
			if c.traits.Quota > 0 {
				then = parked
			}
			c.leave(r, then)
		}
	}
	c.settle(w)
	return nil
}

// finish takes a response that is complete out of its worker.
func (c *Core) finish(w *Worker, r *Request) {
	w.Active = without(w.Active, r)
	r.close(w.Version)
	c.unfinished--
	r.Worker = -1
	if r.at == leaving {
		w.leaves--
		c.arrive(r)
		if r.then == gone {
			r.at = gone
			c.counts.WastedTokens += r.Made
			return
		}
	}
	r.at = finished
	c.ended = append(c.ended, r)
}

// complete adds the responses that ended at this time to their samples, in the
// order of their numbers: of surplus ones, the smallest are kept.
func (c *Core) complete() {
	slices.SortFunc(c.ended, func(a, b *Request) int { return cmp.Compare(a.ID, b.ID) })
	for _, r := range c.ended {
		s := r.Sample
		if r.at == gone { // with its sample
			continue
		}
		if s.Left == 0 {
			r.at = gone
			c.counts.WastedTokens += r.Made
			continue
		}
		s.Tokens += r.Made
		if s.Left--; s.Left > 0 {
			continue
		}
		s.Ended = c.now
		c.fresh = append(c.fresh, s)
		for _, late := range s.Requests {
			c.expel(late)
		}
	}
	c.ended = c.ended[:0]
}

// graded takes in which of them the driver has no use for.
func (c *Core) graded(command Command, o Outcome) error {
	for i, id := range o.Refused {
		if !slices.Contains(command.Samples, id) || slices.Contains(o.Refused[:i], id) {
			return fmt.Errorf("schedule: sample %d is refused twice, or was not to be graded", id)
		}
	}
	if o.Worth != nil && len(o.Worth) != len(c.fresh) {
		return fmt.Errorf("schedule: %d samples were graded with %d figures of worth", len(c.fresh), len(o.Worth))
	}
	for i, worth := range o.Worth {
		c.fresh[i].Worth = worth
	}
	c.collect(o.Refused)
	return nil
}

// collect hands over what was done at this time, in the order of submission, but for
// what is refused.
func (c *Core) collect(refused []int) {
	for _, s := range c.fresh {
		i, _ := slices.BinarySearchFunc(c.flight, s.ID, func(s *Sample, id int) int { return cmp.Compare(s.ID, id) })
		c.flight = slices.Delete(c.flight, i, i+1)
		c.done = append(c.done, s)
		c.accepted++
	}
	for _, s := range c.fresh {
		if slices.Contains(refused, s.ID) {
			c.refuse(s, Drop)
		}
	}
	c.fresh = c.fresh[:0]
}

func (c *Core) loaded(command Command) {
	w := c.workers[command.Worker]
	load := c.scoredBefore(w) + c.config.Costs.Sync + charged(oldLogProbs[c.old()].Decoded, c.config.Costs.Sync)
	for _, r := range w.Active {
		r.close(w.Version)
	}
	w.Version = command.Version
	costs := c.config.Costs
	ticks := 0
	for _, r := range w.Active {
		if r.Made > 0 {
			c.counts.Interrupts++
		} else {
			c.recount(r.Sample) // the version that it began with made nothing
		}
		r.Sample.noteVersion(w.Version)
		switch command.Cache {
		case Restart:
			c.counts.WastedTokens += r.Made
			r.Made, r.pieced, r.Pieces = 0, 0, nil
			r.calling, r.back, r.reply, r.replied = false, 0, 0, 0
			c.recount(r.Sample)
			ticks += costs.Prefill(r.Prefix(), c.config.Engine)
		case Reprefill:
			ticks += costs.Prefill(r.Prefix(), c.config.Engine)
			c.counts.ReprefilledTokens += r.Prefix()
		}
	}
	for _, r := range w.joins {
		c.recount(r.Sample)
		r.cached = r.cached && command.Cache == KeepStale
	}
	if command.Cache != KeepStale {
		w.debt = ticks
	}
	c.spend(Span{Lane: w.ID, Activity: Loading, From: c.now, To: c.now + load, Version: w.Version})
	c.begin(w, loading, load)
}

// called lets the requests wait that called a tool in a worker's last step, where that
// costs anything: each keeps its slot, and does not decode until the tool has answered.
func (c *Core) called(w *Worker, calls []ToolCall) error {
	if !c.config.Costs.tools() {
		return nil
	}
	for _, call := range calls {
		i := slices.IndexFunc(w.Active, func(r *Request) bool { return r.ID == call.Request })
		if i < 0 || w.Active[i].calling || call.Tokens < 0 {
			return fmt.Errorf("schedule: request %d is said to have called a tool on worker %d, where it does not decode", call.Request, w.ID)
		}
		r := w.Active[i]
		r.calling, r.back, r.reply = true, w.from+c.config.Costs.ToolCall, call.Tokens
		c.counts.Calls++
	}
	return nil
}

// answered lets those requests of a worker go on whose tools have answered; the worker
// has their replies to read.
func (c *Core) answered(w *Worker) {
	for _, r := range w.Active {
		if r.calling && r.back <= c.now {
			w.debt += ceilDiv(r.reply*c.config.Costs.ToolToken, c.config.Engine)
			c.counts.ToolTokens += r.reply
			c.counts.WaitedTicks += c.now - r.back + c.config.Costs.ToolCall
			r.replied += r.reply
			r.calling, r.back, r.reply = false, 0, 0
		}
	}
}

// decodes is the number of a worker's requests that decode, and the time at which the
// first of the others hears from its tool, never where none waits.
func (w *Worker) decodes() (n, back int) {
	back = never
	for _, r := range w.Active {
		if r.calling {
			back = min(back, r.back)
		} else {
			n++
		}
	}
	return n, back
}

// callers are the requests of a worker that wait for their tools.
func (w *Worker) callers() []int {
	var ids []int
	for _, r := range w.Active {
		if r.calling {
			ids = append(ids, r.ID)
		}
	}
	return ids
}
