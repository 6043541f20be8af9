package schedule

import (
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
	slot   int // place in the heap
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

// heap orders the workers by the time of what happens to them next.
type heap struct {
	workers []*Worker
	rank    []int // the order of workers at equal times
}

func (h *heap) less(i, j int) bool {
	a, b := h.workers[i], h.workers[j]
	return a.until < b.until || a.until == b.until && h.rank[a.ID] < h.rank[b.ID]
}

func (h *heap) swap(i, j int) {
	h.workers[i], h.workers[j] = h.workers[j], h.workers[i]
	h.workers[i].slot, h.workers[j].slot = i, j
}

// top is the worker to which something happens first.
func (h *heap) top() *Worker { return h.workers[0] }

func (h *heap) set(w *Worker, until int) {
	w.until = until
	i := w.slot
	for i > 0 && h.less(i, (i-1)/2) {
		h.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	for {
		least := i
		for _, child := range [...]int{2*i + 1, 2*i + 2} {
			if child < len(h.workers) && h.less(child, least) {
				least = child
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

// newHeap orders workers, which keep their numbers.
func newHeap(workers []*Worker, sequence []int) heap {
	h := heap{make([]*Worker, 0, len(workers)), make([]int, len(workers))}
	for rank, i := range sequence {
		h.rank[i] = rank
	}
	for _, i := range sequence {
		w := workers[i]
		w.slot = len(h.workers)
		h.workers = append(h.workers, w)
		h.set(w, w.until)
	}
	return h
}

// without removes a request from a list, which keeps its order.
func without(list []*Request, r *Request) []*Request {
	if i := slices.Index(list, r); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
