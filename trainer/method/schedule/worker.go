package schedule

import (
	"container/heap"
	"math"
	"slices"
)

// never is the time of what is not going to happen.
const never = math.MaxInt

// Worker is a rollout engine with a number of slots; it holds one version of the
// weights. Policies read it.
type Worker struct {
	// ID is its index.
	ID int
	// Version is the version of the weights it serves.
	Version int
	// Active are the requests in its slots, in the order of their arrival.
	Active []*Request

	joins  []*Request // what enters at the end of the step
	leaves int        // how many of Active go at the end of the step
	coming int        // how many are on their way here from other workers
	state  state
	from   int // when this state began
	step   int // ticks of a decode step
	until  int // when something happens next
	want   int // the version to load
	reload Reload
	debt   int // ticks of prefill that were cut short
	slot   int // place in the agenda
}

// state is what a worker is doing.
type state int

const (
	resting state = iota
	prefilling
	decoding
	loading
	calling // all of its requests wait for tools
)

// Load is the number of requests that it has, or will have after this step.
func (w *Worker) Load() int { return len(w.Active) + len(w.joins) - w.leaves + w.coming }

// Stale reports whether newer weights wait for it to become empty.
func (w *Worker) Stale() bool { return w.want != w.Version }

// Open reports whether it takes new requests, if it has a slot.
func (w *Worker) Open() bool { return w.reload != Drain || !w.Stale() }

// Tokens is the number in its cache at a time.
func (w *Worker) Tokens(now int) int {
	n := 0
	if w.state == decoding {
		busy, _ := w.decodes()
		n = (now - w.from) / w.step * busy
	}
	for _, r := range w.Active {
		n += r.Prefix()
	}
	return n
}

// oldest is the request that came first, for an order that no number of a worker
// has a part in.
func (w *Worker) oldest() int {
	switch {
	case len(w.Active) > 0:
		return w.Active[0].ID
	case len(w.joins) > 0:
		return w.joins[0].ID
	}
	return -1
}

// ready is when it will have loaded, 0 for now.
func (w *Worker) ready() int {
	if w.state == loading {
		return w.until
	}
	return 0
}

// agenda is a heap of the workers by the time of what happens to them next. Its workers stay the same.
type agenda struct {
	workers []*Worker
	rank    []int // the order of workers at equal times
}

func (a *agenda) Len() int { return len(a.workers) }

func (a *agenda) Less(i, j int) bool {
	x, y := a.workers[i], a.workers[j]
	return x.until < y.until || x.until == y.until && a.rank[x.ID] < a.rank[y.ID]
}

func (a *agenda) Swap(i, j int) {
	a.workers[i], a.workers[j] = a.workers[j], a.workers[i]
	a.workers[i].slot, a.workers[j].slot = i, j
}

func (*agenda) Push(any) {}

func (*agenda) Pop() any { return nil }

// top is the worker to which something happens first.
func (a *agenda) top() *Worker { return a.workers[0] }

func (a *agenda) set(w *Worker, until int) {
	w.until = until
	heap.Fix(a, w.slot)
}

// newAgenda orders workers, which keep their numbers.
func newAgenda(workers []*Worker, sequence []int) *agenda {
	a := &agenda{rank: make([]int, len(workers))}
	for rank, i := range sequence {
		a.rank[i], workers[i].slot = rank, rank
		a.workers = append(a.workers, workers[i])
	}
	heap.Init(a)
	return a
}

// without removes a request from a list, which keeps its order.
func without(list []*Request, r *Request) []*Request {
	if i := slices.Index(list, r); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
