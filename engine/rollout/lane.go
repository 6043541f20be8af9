package rollout

import (
	"slices"
	"sync/atomic"

	"driftlab/engine"
)

// lane decodes a share of the engine's slots, step by step, with a pass of its
// own.
type lane struct {
	engine   *Engine
	pass     *engine.Pass
	samplers []sampler // by worker of the pass
	sampling Sampling

	first, stride, end int // its slots
	dealt              int // of them have their first request
	pack               engine.Pack
	ids                []int   // cache slots of the pack's sequences
	targets            []int32 // the last row of each
	kept               engine.Retention
	_                  [64]byte // the next lane's is another cache line
}

// begin makes a lane whose pass has that many workers.
func (l *lane) begin(e *Engine, workers int) {
	l.engine, l.pass, l.samplers = e, engine.NewPass(e.config, workers), make([]sampler, max(workers, 1))
	l.targets = []int32{} // to a pack, nil would mean every row
}

// queue hands out the requests of a call of Generate, in order.
type queue struct {
	requests []Request
	next     atomic.Int64
}

// take gives a slot the next request, and reports whether there was one.
func (q *queue) take(k *slot) bool {
	if int(q.next.Load()) >= len(q.requests) {
		return false
	}
	i := int(q.next.Add(1)) - 1
	if i >= len(q.requests) {
		return false
	}
	k.take(i, &q.requests[i])
	return true
}

// share decodes the requests. A step of all slots takes as long as the slowest
// worker's part of it, and there are hundreds in a call. So where a response does
// not depend on its company, every worker has a lane: it takes requests from the
// common queue for slots of its own, and waits for the others only at the end.
// Who decodes what then depends on the moment, and no bit does.
//
// Three things keep the workers in step: batch-variant numerics, whose bits belong
// to the company; prompts shared under numerics that notice which of them are; and
// the drafter, which proposes for all slots at once.
func (e *Engine) share(requests []Request, s Sampling) {
	e.queue.requests = requests
	e.queue.next.Store(0)
	n := min(len(e.lanes), len(e.slots), len(requests))
	if n < 2 || e.speculates || e.prefill.PrefixCache && !e.weights.Numerics.DecodesAsScored() {
		e.together.share(0, 1, len(e.slots), s)
		e.together.decode()
		return
	}
	first := min(len(e.slots), len(requests))
	e.deal(first, n)
	for i := range n {
		e.lanes[i].share(i, n, first, s)
	}
	e.team.Run(n, &e.lanes)
}

// deal gives the first requests to n lanes, whose slots lie n apart: neighbours
// with one prompt to the same lane, as far as it has slots, since that is where a
// prompt is shared; then the next to the lane that has the fewest.
func (e *Engine) deal(first, n int) {
	lane := -1
	for i := range n {
		e.lanes[i].dealt = 0
	}
	for i := range first {
		again := i > 0 && slices.Equal(e.queue.requests[i].Prompt, e.queue.requests[i-1].Prompt)
		if !again || lane+n*e.lanes[lane].dealt >= first {
			lane = 0
			for j := range n {
				if e.lanes[j].dealt < e.lanes[lane].dealt {
					lane = j
				}
			}
		}
		e.queue.take(&e.slots[lane+n*e.lanes[lane].dealt])
		e.lanes[lane].dealt++
	}
}

// lanes are one per worker, a kernel.Job for all of them.
type lanes []lane

// Part runs a lane.
func (l *lanes) Part(i int) { (*l)[i].decode() }

// share gives a lane its slots.
func (l *lane) share(first, stride, end int, s Sampling) {
	l.first, l.stride, l.end, l.sampling = first, stride, end, s
}

// decode runs until the lane's slots are free and no request is left.
func (l *lane) decode() {
	e := l.engine
	for {
		running := 0
		for i := l.first; i < l.end; i += l.stride {
			if k := &e.slots[i]; k.request >= 0 || e.queue.take(k) {
				running++
			}
		}
		if running == 0 {
			return
		}
		l.step()
	}
}

// step advances every running sequence by what it has not read: its prompt or a
// chunk of it, the last token, or with it the reply of a tool.
func (l *lane) step() {
	e := l.engine
	if e.speculates {
		e.drafter.propose(l.sampling)
	}
	l.pack.Reset()
	l.targets, l.ids = l.targets[:0], l.ids[:0]
	shares := e.shares()
	for i := l.first; i < l.end; i += l.stride {
		k := &e.slots[i]
		if k.request < 0 || k.length == 0 && shares && !l.reuse(i) {
			continue
		}
		tokens := e.next(k)
		if n := e.drafted(i); n > 0 {
			l.pack.Add(k.length, tokens, e.drafter.slots[i].tokens)
			for row := l.pack.Rows() - n - 1; row < l.pack.Rows(); row++ {
				l.targets = append(l.targets, int32(row))
			}
			l.ids = append(l.ids, i)
			continue
		}
		l.pack.Add(k.length, tokens)
		if k.length+len(tokens) == e.known(k) {
			l.targets = append(l.targets, int32(l.pack.Rows()-1))
		}
		l.ids = append(l.ids, i)
	}
	l.pack.Targets = l.targets
	options := engine.Options{Cache: e.cache, Slots: l.ids, KeepGates: l.sampling.Gates, Follow: l}
	l.plan(&options)
	l.pass.Begin(e.weights, &l.pack, options)
	l.pass.Forward()
	for _, i := range l.ids {
		if k := &e.slots[i]; k.done {
			k.request, k.done = -1, false
		}
	}
}
