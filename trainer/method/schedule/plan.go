package schedule

import (
	"cmp"
	"container/heap"
	"slices"
)

// plan gathers the moves of one call of Place, and knows the load that they make.
type plan struct {
	view  View
	moves []Move
	// added is what the moves add to the load of each worker, first the first
	// request that they bring to it, both by its number; nil before there are any.
	added, first []int
	// ranking has the workers with a slot, the next to be filled on top; nil until it is
	// asked for. The plan is its heap.Interface.
	ranking []*Worker
}

func (p *plan) Len() int { return len(p.ranking) }

func (p *plan) Less(i, j int) bool { return p.before(p.ranking[i], p.ranking[j]) }

func (p *plan) Swap(i, j int) { p.ranking[i], p.ranking[j] = p.ranking[j], p.ranking[i] }

func (p *plan) Push(w any) { p.ranking = append(p.ranking, w.(*Worker)) }

func (p *plan) Pop() any {
	last := p.ranking[len(p.ranking)-1]
	p.ranking = p.ranking[:len(p.ranking)-1]
	return last
}

func newPlan(v View) *plan { return &plan{view: v} }

func (p *plan) load(w *Worker) int {
	if p.added == nil {
		return w.Load()
	}
	return w.Load() + p.added[w.ID]
}

// free is the number of slots that the moves so far leave it.
func (p *plan) free(w *Worker) int { return p.view.SlotsEach - p.load(w) }

// before orders workers for new requests: one with the newest weights, of these the
// least busy, the one that is ready first, the one whose first request is older. It
// looks at no worker's number: which of several empty ones is taken cannot matter.
func (p *plan) before(a, b *Worker) bool {
	if a.Version != b.Version {
		return a.Version > b.Version
	}
	if x, y := p.load(a), p.load(b); x != y {
		return x < y
	}
	if x, y := a.ready(), b.ready(); x != y {
		return x < y
	}
	return p.oldest(a) < p.oldest(b)
}

// oldest is the first request that a worker got, also by the moves.
func (p *plan) oldest(w *Worker) int {
	if r := w.oldest(); r >= 0 || p.added == nil {
		return r
	}
	return p.first[w.ID]
}

// emptiest is the worker that the next request goes to, nil if none has a slot.
func (p *plan) emptiest() *Worker {
	if len(p.view.Queue) == 1 {
		return p.only()
	}
	if p.ranking == nil {
		p.ranking = make([]*Worker, 0, len(p.view.Workers))
		for _, w := range p.view.Workers {
			if w.Open() && p.free(w) > 0 {
				p.ranking = append(p.ranking, w)
			}
		}
		heap.Init(p)
	}
	for len(p.ranking) > 0 && p.free(p.ranking[0]) <= 0 {
		heap.Pop(p)
	}
	if len(p.ranking) == 0 {
		return nil
	}
	return p.ranking[0]
}

// only is the emptiest, for a single request, without a ranking of the others.
func (p *plan) only() *Worker {
	var best *Worker
	for _, w := range p.view.Workers {
		if w.Open() && p.free(w) > 0 && (best == nil || p.before(w, best)) {
			best = w
		}
	}
	return best
}

func (p *plan) move(m Move) {
	if p.added == nil {
		p.added, p.first = make([]int, len(p.view.Workers)), slices.Repeat([]int{-1}, len(p.view.Workers))
	}
	p.added[m.Worker]++
	if p.first[m.Worker] < 0 {
		p.first[m.Worker] = m.Request.ID
	}
	if from := m.Request.Worker; from >= 0 {
		p.added[from]--
		p.ranking = nil
	}
	p.moves = append(p.moves, m)
	if len(p.ranking) > 0 && p.ranking[0].ID == m.Worker {
		heap.Fix(p, 0)
	} else {
		p.ranking = nil
	}
}

// queue gives waiting requests, in their order, to the emptiest workers, each for that many steps; 0 for any number.
func (p *plan) queue(requests []*Request, steps int) []Move {
	for _, r := range requests {
		w := p.emptiest()
		if w == nil {
			break
		}
		p.move(Move{Request: r, Worker: w.ID, Steps: steps})
	}
	return p.moves
}

// emptiestOf are the workers that keep to a condition and to which nothing comes, the emptiest first.
func emptiestOf(v View, is func(*Worker) bool) []*Worker {
	workers := slices.DeleteFunc(slices.Clone(v.Workers), func(w *Worker) bool { return !is(w) || w.Load() != len(w.Active) })
	slices.SortStableFunc(workers, func(a, b *Worker) int {
		return cmp.Or(cmp.Compare(len(a.Active), len(b.Active)), cmp.Compare(b.oldest(), a.oldest()))
	})
	return workers
}

// vacate moves the requests of one worker to others of its version, the fullest
// that has a free slot first; it reports false, and moves nothing, if they do not fit.
func (p *plan) vacate(w *Worker, fits func(to *Worker) bool) bool {
	var hosts []*Worker
	free := 0
	for _, x := range p.view.Workers {
		if x != w && x.Version == w.Version && p.load(x) > 0 && p.free(x) > 0 && fits(x) {
			hosts = append(hosts, x)
			free += p.free(x)
		}
	}
	if free < len(w.Active) {
		return false
	}
	slices.SortStableFunc(hosts, func(a, b *Worker) int {
		return cmp.Or(cmp.Compare(p.load(b), p.load(a)), cmp.Compare(a.oldest(), b.oldest()))
	})
	for _, r := range w.Active {
		for p.free(hosts[0]) == 0 {
			hosts = hosts[1:]
		}
		p.move(Move{Request: r, Worker: hosts[0].ID})
	}
	return true
}
