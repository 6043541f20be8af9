package schedule

import "slices"

// leave marks a running request: at the end of its worker's step it goes.
func (c *Core) leave(r *Request, then place) {
	r.at, r.then = leaving, then
	if then == joining {
		c.workers[r.to].coming++
	}
	c.workers[r.Worker].leaves++
	c.touched = append(c.touched, r.Worker)
}

// evict takes those that leave out of a worker, by what becomes of them: settling
// after it finds the others.
func (c *Core) evict(w *Worker) {
	out := Command{Kind: Evict, Worker: w.ID, Version: w.Version, Cache: -1}
	for _, r := range w.Active {
		if r.at != leaving {
			continue
		}
		if cache := saved(r.then); out.Cache < 0 || cache == out.Cache {
			out.Cache = cache
			out.Requests = append(out.Requests, r.ID)
		}
	}
	c.emit(out)
}

// saved is what an evicted request keeps where it goes: everything but its keys and
// values if it has to wait for other weights.
func saved(then place) Cache {
	switch then {
	case gone:
		return Restart
	case parked:
		return Reprefill
	}
	return KeepStale
}

// evicted takes in that requests have left a worker.
func (c *Core) evicted(command Command) {
	w := c.workers[command.Worker]
	for _, id := range command.Requests {
		r := w.Active[slices.IndexFunc(w.Active, func(r *Request) bool { return r.ID == id })]
		w.Active = without(w.Active, r)
		w.leaves--
		r.close(w.Version)
		c.arrive(r)
		r.cached = command.Cache == KeepStale
		c.put(r, r.then)
	}
	c.settle(w)
}

// arrive ends a running request's way to another worker, there or anywhere else.
func (c *Core) arrive(r *Request) {
	if r.then == joining {
		c.workers[r.to].coming--
		c.touched = append(c.touched, r.to)
	}
}

// put brings a request that is with no worker to where it goes.
func (c *Core) put(r *Request, where place) {
	r.at, r.Worker = where, -1
	switch where {
	case waiting:
		c.queue = append(c.queue, r)
	case parked:
		c.parked = append(c.parked, r)
	case joining:
		w := c.workers[r.to]
		r.Worker = r.to
		w.joins = append(w.joins, r)
		r.Sample.noteVersion(w.Version)
		c.touched = append(c.touched, r.to)
	case gone:
		c.unfinished--
		c.counts.WastedTokens += r.Made
	}
}

// expel ends a request for good, wherever it is.
func (c *Core) expel(r *Request) {
	switch r.at {
	case finished, gone:
		return
	case active:
		c.leave(r, gone)
		return
	case leaving:
		c.arrive(r)
		r.then = gone
		return
	}
	c.detach(r)
	c.put(r, gone)
}

// detach takes a request that does not run out of the list it is in.
func (c *Core) detach(r *Request) {
	switch r.at {
	case waiting:
		c.queue = without(c.queue, r)
	case parked:
		c.parked = without(c.parked, r)
	case joining:
		w := c.workers[r.Worker]
		w.joins = without(w.joins, r)
	}
}

// restart throws the tokens of a response away.
func (c *Core) restart(r *Request) {
	c.counts.WastedTokens += r.Made
	r.Made, r.pieced, r.Pieces = 0, 0, nil
	r.calling, r.back, r.reply, r.replied = false, 0, 0, 0
}

// recount finds the versions of a sample anew, after it lost some.
func (c *Core) recount(s *Sample) {
	s.Oldest, s.Newest = -1, -1
	for _, r := range s.Requests {
		for _, p := range r.Pieces {
			s.noteVersion(p.Version)
		}
		if r.at == joining || r.at == active || r.at == leaving {
			s.noteVersion(c.workers[r.Worker].Version)
		}
	}
}

// refuse takes a sample out of the run; with Requeue its prompt comes again, as a
// sample of its own.
func (c *Core) refuse(s *Sample, fate Fate) {
	is := func(x *Sample) bool { return x == s }
	if s.Done() {
		c.done = slices.DeleteFunc(c.done, is)
		c.accepted--
	} else {
		c.flight = slices.DeleteFunc(c.flight, is)
	}
	c.taken++
	for _, r := range s.Requests {
		if r.at == finished {
			r.at = gone
			c.counts.WastedTokens += r.Made
		}
		c.expel(r)
	}
	if fate == Drop {
		c.counts.Dropped++
		return
	}
	c.counts.Requeued++
	c.submit(s.Origin)
}
