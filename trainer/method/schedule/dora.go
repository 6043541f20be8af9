package schedule

import (
	"cmp"
	"slices"
)

// dora serves several versions at once: each trajectory stays with the version that
// it was dispatched to. More than a batch is in flight (RBS > B), a batch is trained at B,
// and the newest version is filled first, idle slots of old ones then.
type dora struct {
	// K is the greatest lag. 0 is synchronous.
	K int `yaml:"k" default:"3" range:"[0,1024]"`
	// Flight is RBS, the samples in flight; 0 for twice B.
	Flight int `yaml:"flight" range:"[0,2^20]"`
}

func (p *dora) Traits() Traits {
	return Traits{Reload: Pin, Old: Rollout, Bound: p.K}
}

func (p *dora) flight(v View) int { return max(cmp.Or(p.Flight, 2*v.Batch), v.Batch) }

// capacity is the number of samples that can still be trained before those of a
// version are more than K old.
func (p *dora) capacity(v View, version int) int {
	updates := version + p.K - v.Version
	if v.Idle && v.Unpublished == 0 {
		updates++ // the one at the present version is not taken yet
	}
	return updates * v.Batch
}

// Admit fills up to RBS what can be trained in time.
func (p *dora) Admit(v View) int {
	return min(p.flight(v)-v.Running, p.capacity(v, v.Version)-v.Running-len(v.Done))
}

// Batch takes the oldest that are done; it waits as long as the samples that it
// would leave could not all be trained in time, such as a straggler that is K old.
func (p *dora) Batch(v View) []*Sample {
	if len(v.Done) < v.Batch {
		return nil
	}
	batch := slices.SortedFunc(slices.Values(v.Done), func(a, b *Sample) int {
		return cmp.Or(cmp.Compare(a.Oldest, b.Oldest), cmp.Compare(a.ID, b.ID))
	})[:v.Batch]
	return inWindow(v, batch, p.K, func(s *Sample) int { return s.Oldest })
}

// inWindow is a batch, or nil where the samples that it leaves could not all be trained before one is more
// than most versions old; of says from which version a sample's age counts, -1 for none yet.
func inWindow(v View, batch []*Sample, most int, of func(*Sample) int) []*Sample {
	for version := max(0, v.Version-most); version < v.Version; version++ {
		left := countUpTo(v.Flight, version, of) + countUpTo(v.Done, version, of) - countUpTo(batch, version, of)
		if left > (version+most-v.Version)*v.Batch {
			return nil
		}
	}
	return batch
}

// Place divides the workers over the versions anew when one is published, then
// gives waiting requests to the newest weights, and to older ones only what can
// still be trained in time.
func (p *dora) Place(v View) []Move {
	pl := newPlan(v)
	if v.Published {
		p.divide(pl)
	}
	old := 0            // samples that the moves give tokens of old versions
	var last *Sample    // of which the newest of them
	lastOf := v.Version // is of this version
	for _, r := range v.Queue {
		w := pl.emptiest()
		if w == nil {
			break
		}
		if r.Sample != last {
			last, lastOf = r.Sample, v.Version
			if r.Sample.Oldest >= 0 { // it is counted with that version already
				lastOf = min(lastOf, r.Sample.Oldest)
			}
		}
		if w.Version < lastOf {
			if !p.inTime(v, w.Version, old) {
				break
			}
			old, lastOf = old+1, w.Version
		}
		pl.move(Move{Request: r, Worker: w.ID})
	}
	return pl.moves
}

// inTime reports whether one more sample of a version, in addition to the given number of others, can
// be trained before it, or one of a later version that it goes before, is more than
// K old.
func (p *dora) inTime(v View, version, others int) bool {
	oldest := func(s *Sample) int { return s.Oldest }
	for ; version < v.Version; version++ { // samples, running or done, with tokens of it or older ones
		if countUpTo(v.Flight, version, oldest)+countUpTo(v.Done, version, oldest)+others >= p.capacity(v, version) {
			return false
		}
	}
	return true
}

func countUpTo(samples []*Sample, version int, of func(*Sample) int) int {
	n := 0
	for _, s := range samples {
		if from := of(s); from >= 0 && from <= version {
			n++
		}
	}
	return n
}

// divide frees workers of old versions that have more than their share.
func (p *dora) divide(pl *plan) {
	v := pl.view
	requests, workers := map[int]int{}, map[int]int{}
	var versions []int
	for _, w := range v.Workers {
		if workers[w.Version] == 0 {
			versions = append(versions, w.Version)
		}
		workers[w.Version]++
		requests[w.Version] += w.Load()
	}
	slices.Sort(versions)
	all := p.flight(v) * v.Group
	for _, version := range versions {
		if version == v.Version {
			continue
		}
		share := max(1, (2*len(v.Workers)*requests[version]+all)/(2*all))
		for _, w := range emptiestOf(v, func(w *Worker) bool { return w.Version == version }) {
			if workers[version] <= share {
				break
			}
			if len(w.Active) == 0 || pl.load(w) == len(w.Active) && pl.vacate(w, func(*Worker) bool { return true }) {
				workers[version]--
			}
		}
	}
}

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
	case waiting:
		c.queue = without(c.queue, r)
	case parked:
		c.parked = without(c.parked, r)
	case joining:
		w := c.workers[r.Worker]
		w.joins = without(w.joins, r)
	}
	c.put(r, gone)
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
