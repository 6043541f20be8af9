package rollout

import (
	"fmt"
	"slices"
	"sync/atomic"

	"driftlab/engine/column"
)

// active is what is in progress: the responses that have been begun and not yet
// collected, wherever they stand.
type active struct {
	sampling Sampling
	begun    []*response // in order
	queue    queue
	order    int   // of the next response
	absent   []int // requests that make no step now

	spare []*response // memory of earlier ones
	parts []*column.Sampled
	ids   []int
}

// Begin takes requests in: they go to free slots, in order, and wait where there
// are none. What is in progress has one sampling; it panics on another.
func (e *Engine) Begin(requests []Request, s Sampling) {
	s.check()
	checkGiven(requests, s)
	e.open(s)
	e.asks = e.fuses(requests) || e.asks
	for i := range requests {
		var r *response
		if n := len(e.spare); n > 0 {
			r, e.spare = e.spare[n-1], e.spare[:n-1]
		} else {
			r = new(response)
		}
		r.begin(&requests[i], e.order)
		r.reserve(e)
		e.enter(r)
	}
}

// open sets the sampling, or checks it where something is in progress.
func (e *Engine) open(s Sampling) {
	if len(e.begun) > 0 {
		if s != e.sampling {
			panic(fmt.Sprintf("rollout: sampling %+v while responses are sampled with %+v", s, e.sampling))
		}
		return
	}
	e.sampling, e.speculates, e.asks, e.order = s, e.drafts(s), false, 0
}

// enter puts a response at the end of the queue.
func (e *Engine) enter(r *response) {
	e.begun = append(e.begun, r)
	e.order++
	e.queue.add(r)
}

// idle panics if something is in progress.
func (e *Engine) idle(what string) {
	if len(e.begun) > 0 {
		panic(fmt.Sprintf("rollout: %s with %d responses in progress", what, len(e.begun)))
	}
}

// InProgress returns how many responses have slots, and how many wait for one.
func (e *Engine) InProgress() (running, waiting int) {
	for _, r := range e.begun {
		if !r.done {
			waiting++
		}
	}
	for i := range e.slots {
		if e.slots[i].running() {
			running++
		}
	}
	return running, waiting - running
}

// Advance makes at most so many decode steps, and stops behind the first that
// completes a response. It returns how many it made: 0 when nothing is in progress.
// A step brings every running response one token further, several where tokens are
// drafted and none where a prompt is read in chunks; free slots take what waits
// before it. Steps are the same on any number of workers, and what is lent of a
// prompt comes from what is in progress alone: how responses go on, and after how
// many steps each is complete, is a function of what is in progress.
func (e *Engine) Advance(steps int) int { return e.AdvanceWithout(steps, nil) }

// AdvanceWithout is Advance for all but the named requests: these stay in their slots as
// they are, since their tools have yet to answer.
func (e *Engine) AdvanceWithout(steps int, absent []int) int {
	e.absent = absent
	defer func() { e.absent = nil }()
	l := &e.together
	l.share(e, 0, 1, len(e.slots))
	for made := range steps {
		if !l.fill() {
			return made
		}
		completed := l.step(false)
		e.settle()
		if completed {
			return made + 1
		}
	}
	return max(steps, 0)
}

// away reports whether a response makes no step now.
func (e *Engine) away(r *response) bool {
	return e.absent != nil && slices.Contains(e.absent, r.request.ID)
}

// Called calls f with every request whose newest tokens are a tool's, and their number:
// those that called in their last step.
func (e *Engine) Called(f func(id, tokens int)) {
	for i := range e.slots {
		r := e.slots[i].response
		if !r.running() {
			continue
		}
		n := 0
		for n < len(r.Mask) && !r.Mask[len(r.Mask)-1-n] {
			n++
		}
		if n > 0 {
			f(r.request.ID, n)
		}
	}
}

// Collect moves the complete responses into dst, in the order in which they were
// begun, and appends the names of their requests to ids.
func (e *Engine) Collect(dst *column.Sampled, ids []int) []int {
	e.parts = e.parts[:0]
	for _, r := range e.begun {
		if r.done {
			e.parts, ids = append(e.parts, &r.Sampled), append(ids, r.request.ID)
		}
	}
	store(dst, e.parts, e.config)
	for i := range e.slots {
		if k := &e.slots[i]; !k.running() {
			k.response = nil
		}
	}
	// The next requests then find the same memory in the same order.
	for _, r := range slices.Backward(e.begun) {
		if r.done {
			r.request = Request{}
			e.spare = append(e.spare, r)
		}
	}
	e.begun = slices.DeleteFunc(e.begun, func(r *response) bool { return r.done })
	return ids
}

// queue hands out the responses that wait for a slot, in order.
type queue struct {
	waiting []*response
	next    atomic.Int64
}

// add puts a response at the end. Nobody may take meanwhile.
func (q *queue) add(r *response) {
	if n := int(q.next.Load()); n >= len(q.waiting) {
		q.waiting = q.waiting[:0]
		q.next.Store(0)
	} else if len(q.waiting) == cap(q.waiting) {
		q.waiting = append(q.waiting[:0], q.waiting[n:]...)
		q.next.Store(0)
	}
	q.waiting = append(q.waiting, r)
}

// rest are the responses that wait.
func (q *queue) rest() []*response {
	return q.waiting[min(int(q.next.Load()), len(q.waiting)):]
}

// take gives a free slot the next response, and reports whether there was one.
func (e *Engine) take(slot int) bool {
	q := &e.queue
	if int(q.next.Load()) >= len(q.waiting) {
		return false
	}
	i := int(q.next.Add(1)) - 1
	if i >= len(q.waiting) {
		return false
	}
	r := q.waiting[i]
	if r.weights == nil {
		r.weights = e.weights
	}
	e.slots[slot].response = r
	e.restore(slot, r)
	if e.drafter != nil {
		e.drafter.slots[slot].length = 0
	}
	if e.partner != nil {
		e.partner.slots[slot].length = 0
	}
	return true
}
