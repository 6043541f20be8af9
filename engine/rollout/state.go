package rollout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"driftlab/engine"
	"driftlab/engine/column"
)

// header is what is saved of a response in addition to its columns.
type header struct {
	ID, Version, Length, Read int64
	Actual                    int64
	Seed, Stream              uint64
	RNG                       [20]byte
	Windows                   int32
	Stale, Rereads            bool
	Begun, Given, Held        bool
	Filed, Mixed              bool      // see response
	Counts                    [4]uint32 // of what follows: given, keys, sets, mass
}

// AppendState appends the response to dst, with its random state and what the
// cache held of it. ReadPartial takes it back, but for its tool and its weights,
// which are named by their version.
func (p *Partial) AppendState(dst []byte) []byte { return p.response.appendState(dst, p.response.held) }

func (r *response) appendState(dst []byte, h *held) []byte {
	q := &r.request
	if q.Fuse > 0 {
		panic("rollout: a state of a response with a partner")
	}
	top := header{ID: int64(q.ID), Length: int64(r.length), Read: int64(r.read), Seed: q.Seed, Stream: q.Stream,
		Windows: r.windows, Stale: r.stale, Rereads: r.rereads, Begun: r.weights != nil, Given: q.Given != nil, Held: h != nil,
		Filed: r.filed, Mixed: r.mixed}
	if r.weights != nil {
		top.Version, top.Actual = int64(r.weights.Version), int64(r.weights.ActualVersion)
	}
	rng, _ := r.rng.MarshalBinary() // has no error to give
	copy(top.RNG[:], rng)
	if h == nil {
		h = new(held)
	}
	top.Counts = [4]uint32{uint32(len(q.Given)), uint32(len(h.keys)), uint32(len(h.sets)), uint32(len(h.mass))}
	dst = r.Sampled.AppendState(dst)
	for _, x := range []any{top, q.Given, h.keys, h.sets, h.mass} {
		dst, _ = binary.Append(dst, binary.LittleEndian, x) // numbers of fixed sizes
	}
	return dst
}

// ReadPartial reads what AppendState appended and returns what stands after it.
// The response's weights are those that claim its version and have the oldest tensors of the
// actual one, where nil is an error, and its tool, if any, is the given one.
func ReadPartial(state []byte, at func(version, actual int) *engine.Weights, tool Tool) (*Partial, []byte, error) {
	r := new(response)
	rest, err := r.ReadState(state)
	top, rest, err := take[header](rest, 1, err)
	if err != nil {
		return nil, nil, fmt.Errorf("a partial response: %w", err)
	}
	h, q := new(held), top[0]
	given, rest, err := take[int32](rest, int(q.Counts[0]), err)
	h.keys, rest, err = take[float32](rest, int(q.Counts[1]), err)
	h.sets, rest, err = take[uint64](rest, int(q.Counts[2]), err)
	h.mass, rest, err = take[float32](rest, int(q.Counts[3]), err)
	if one := r.Len() == 1 && len(r.Prompt) == 1 && len(r.Prompt[0]) > 0 && len(r.Group) == 1 && len(r.PromptID) == 1 && len(r.PromptRoutes) == 1; err == nil && !one {
		err = errors.New("not one response")
	}
	if err == nil {
		err = r.rng.UnmarshalBinary(q.RNG[:])
	}
	if err == nil && q.Begun {
		if r.weights = at(int(q.Version), int(q.Actual)); r.weights == nil {
			err = fmt.Errorf("the weights of its version %d are not there", q.Version)
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("a partial response: %w", err)
	}
	r.request = Request{ID: int(q.ID), Prompt: r.Prompt[0], Group: r.Group[0], PromptID: r.PromptID[0], Seed: q.Seed, Stream: q.Stream, Tool: tool}
	if q.Given {
		r.request.Given = given
	}
	if q.Held {
		r.held = h
	}
	r.length, r.read, r.windows, r.stale, r.rereads = int(q.Length), int(q.Read), q.Windows, q.Stale, q.Rereads
	r.filed, r.mixed = q.Filed, q.Mixed
	return &Partial{r}, rest, nil
}

// take reads n numbers or structures of a fixed size, unless there was an error.
func take[T any](state []byte, n int, before error) (x []T, rest []byte, err error) {
	var one T
	size := n * binary.Size(one)
	if before == nil && size > len(state) {
		before = fmt.Errorf("%d bytes where %d follow", len(state), size)
	}
	if before != nil {
		return nil, nil, before
	}
	x = make([]T, n)
	_, err = binary.Decode(state[:size], binary.LittleEndian, x)
	return x, state[size:], err
}

// fits says why the engine cannot go on with a response, if it cannot.
func (e *Engine) fits(r *response) error {
	c, s := &e.config, &e.sampling
	keys, sets, mass := 0, 0, 0
	if r.held != nil {
		keys = e.cache.SlotSize(r.length)
		if k := e.retainer; k != nil {
			sets = k.perRow()
			if k.mass != nil {
				mass = r.length * c.Layers * c.KVHeads
			}
		}
	}
	switch h := r.held; {
	case r.Layers != c.Layers || r.TopK != c.TopK || r.Vocab != c.Vocab:
		return errors.New("a partial response of another model")
	case len(r.Token) >= s.MaxTokens || r.known() > c.Context || r.length < 0 || r.length >= r.known() || r.read < r.length || r.read >= r.known():
		return fmt.Errorf("a partial response of %d tokens, %d and %d of them read, for %d", r.known(), r.length, r.read, s.MaxTokens)
	case r.request.Fuse > 0 && e.partner == nil || r.read > 0 && !r.Alike(&e.recorded):
		return errors.New("a partial response that records other columns than the engine: sampling, speculation, partner, KV retention and prefix cache are to be those that it began with")
	case h != nil && (len(h.keys) != keys || len(h.sets) != sets || len(h.mass) != mass):
		return errors.New("a partial response whose keys are another cache's")
	case h == nil && r.length > 0:
		return errors.New("a partial response without its keys")
	case r.weights != nil && !r.weights.Numerics.Equal(e.weights.Numerics):
		return fmt.Errorf("a partial response of an engine in %s for one in %s", r.weights.Numerics.Name, e.weights.Numerics.Name)
	}
	return nil
}

// AppendState appends everything that is in progress to dst, and disturbs
// nothing. What is complete is to be collected before.
func (e *Engine) AppendState(dst []byte) []byte {
	running := map[*response]int{}
	for i := range e.slots {
		if r := e.slots[i].response; r.running() {
			running[r] = i
		}
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(len(e.begun)))
	for _, r := range e.begun {
		if r.done {
			panic("rollout: a state with responses that are complete and not collected")
		}
		h := r.held
		if slot, ok := running[r]; ok {
			h = e.hold(slot)
		}
		dst = r.appendState(dst, h)
	}
	return e.AppendPrefixState(dst)
}

// SetState resumes what AppendState appended, for an engine with nothing in
// progress: each response with the weights at its version. It goes on with the
// bits and steps of the engine that was saved.
func (e *Engine) SetState(state []byte, s Sampling, at func(version, actual int) *engine.Weights, tool Tool) error {
	e.idle("SetState")
	count, rest, err := take[uint64](state, 1, nil)
	var partials []*Partial
	for err == nil && len(partials) < int(count[0]) {
		var p *Partial
		if p, rest, err = ReadPartial(rest, at, tool); err == nil {
			partials = append(partials, p)
		}
	}
	if err == nil {
		rest, err = e.SetPrefixState(rest)
	}
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%d bytes behind the partial responses", len(rest))
	}
	if err != nil {
		return err
	}
	return e.resume(partials, s, Pin)
}

// active is what is in progress: the responses that have been begun and not yet
// collected, wherever they stand.
type active struct {
	sampling Sampling
	recorded column.Sampled // the columns that are recorded, without entries
	begun    []*response    // in order
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
	for i, r := range requests {
		if r.Given != nil && (len(r.Given) == 0 || len(r.Given) > s.MaxTokens) {
			panic(fmt.Sprintf("rollout: request %d gives %d tokens, 1 to %d fit", i, len(r.Given), s.MaxTokens))
		}
	}
	e.open(s)
	e.asks = e.fuses(requests) || e.asks
	for i := range requests {
		var r *response
		if n := len(e.spare); n > 0 {
			r, e.spare = e.spare[n-1], e.spare[:n-1]
		} else {
			r = new(response)
		}
		r.begin(e, &requests[i])
		e.enqueue(r)
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
	e.speculates = e.drafter != nil && e.drafter.setting.Draft > 0 && s.Temperature > 0
	e.sampling, e.asks, e.order = s, false, 0
	e.chooseColumns()
}

// enqueue puts a response at the end of the queue.
func (e *Engine) enqueue(r *response) {
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

// Advance makes at most that many decode steps, and stops after the first that
// completes a response. It returns how many it made: 0 when nothing is in progress.
// A step brings every running response one token further, several where tokens are
// drafted and none where a prompt is read in chunks; free slots take what waits
// before it. Steps are the same on any number of workers, and what is lent of a
// prompt comes from what is in progress alone: how responses go on, and after how
// many steps each is complete, is a function of what is in progress. The requests that are
// absent stay in their slots as they are, since their tools have yet to answer.
func (e *Engine) Advance(steps int, absent ...int) int {
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

// add puts a response at the end. No lane may take meanwhile.
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
