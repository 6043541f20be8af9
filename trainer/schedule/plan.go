package schedule

import "slices"

// plan gathers the moves of one call of Place, and knows the load that they make.
type plan struct {
	view  View
	moves []Move
	// added is what the moves add to the load of each worker, by its number; nil
	// for nothing.
	added []int
}

// load is what a worker has with the moves so far.
func (p *plan) load(w *Worker) int {
	if p.added == nil {
		return w.Load()
	}
	return w.Load() + p.added[w.ID]
}

// free is the number of slots that the moves so far leave it.
func (p *plan) free(w *Worker) int { return p.view.SlotsEach - p.load(w) }

// anyWorker is a choice among all.
func anyWorker(*Worker) bool { return true }

// emptiest is the worker of those that new requests go to first, nil if none has
// a slot.
func (p *plan) emptiest(of func(*Worker) bool) *Worker {
	var best *Worker
	for _, w := range p.view.Workers {
		if w.Open() && p.free(w) > 0 && of(w) && (best == nil || emptier(w, best, p.load(w), p.load(best)) < 0) {
			best = w
		}
	}
	return best
}

// move adds a move.
func (p *plan) move(m Move) {
	if p.added == nil {
		p.added = make([]int, len(p.view.Workers))
	}
	p.added[m.Worker]++
	if from := m.Request.Worker; from >= 0 {
		p.added[from]--
	}
	p.moves = append(p.moves, m)
}

// queue gives the waiting requests, in their order, to the emptiest workers.
func (p *plan) queue() {
	for _, r := range p.view.Queue {
		w := p.emptiest(anyWorker)
		if w == nil {
			return
		}
		p.move(Move{Request: r, Worker: w.ID})
	}
}

// vacate moves the requests of one worker to others of its version, the fullest
// that has room first; it reports false, and moves nothing, if they do not fit.
func (p *plan) vacate(w *Worker, fits func(to *Worker) bool) bool {
	var hosts []*Worker
	room := 0
	for _, x := range p.view.Workers {
		if x != w && x.Version == w.Version && p.load(x) > 0 && p.free(x) > 0 && fits(x) {
			hosts = append(hosts, x)
			room += p.free(x)
		}
	}
	if room < len(w.Active) {
		return false
	}
	slices.SortStableFunc(hosts, func(a, b *Worker) int {
		if d := p.load(b) - p.load(a); d != 0 {
			return d
		}
		return a.oldest() - b.oldest()
	})
	for _, r := range w.Active {
		for p.free(hosts[0]) == 0 {
			hosts = hosts[1:]
		}
		p.move(Move{Request: r, Worker: hosts[0].ID})
	}
	return true
}
