package schedule

import (
	"encoding/binary"
	"fmt"
	"slices"

	"driftlab/trainer/method"
)

var _ method.Memory = (*Core)(nil)

// AppendState implements method.Memory: everything but the Config and the Policy,
// the log and a command that is not done included.
func (c *Core) AppendState(dst []byte) []byte {
	s := &codec{data: dst}
	c.code(s)
	return s.data
}

// SetState implements method.Memory, on a Core that New made of the same Config
// and Policy.
func (c *Core) SetState(state []byte) (err error) {
	defer func() {
		if recover() != nil { // an index that is none: the state is of another cluster
			err = fmt.Errorf("a state of %d bytes is not one of this cluster and policy", len(state))
		}
	}()
	s := &codec{data: state, reads: true}
	c.code(s)
	if s.broken || len(s.data) > 0 {
		return fmt.Errorf("a state of %d bytes is not one of this cluster and policy", len(state))
	}
	c.arrange()
	return nil
}

// code goes through all that a Core remembers, to write it or to read it.
func (c *Core) code(s *codec) {
	workers := len(c.workers)
	if s.int(&workers); workers != len(c.workers) {
		panic("workers")
	}
	s.int(&c.now, (*int)(&c.phase), &c.version, &c.step, &c.unpublished, &c.submitted, &c.accepted,
		&c.taken, &c.trainedBefore, &c.unfinished, &c.timer)
	s.bool(&c.published, &c.suspended)
	s.int(&c.learner.until, &c.learner.taken)
	s.bool(&c.learner.busy, &c.learner.trains, &c.learner.update)
	c.pending, c.given = slices.Delete(c.pending, 0, c.given), 0
	codeList(s, &c.pending, (*codec).command)
	codeList(s, &c.mail, func(s *codec, d *delivery) { s.int(&d.time, &d.worker, &d.version) })
	s.ints(&c.touched)
	codeList(s, &c.log, func(s *codec, p *Span) {
		s.int(&p.Lane, (*int)(&p.Activity), &p.From, &p.To, &p.Version, &p.Work)
	})
	s.ints(&c.last)
	s.int(&c.spent.learner, &c.spent.workers, &c.spent.decoding, &c.spent.slots)
	n := &c.counts
	s.int(&n.Submitted, &n.Trained, &n.Dropped, &n.Requeued, &n.DecodedTokens, &n.TrainedTokens, &n.WastedTokens,
		&n.ReprefilledTokens, &n.PromptTokens, &n.Responses, &n.Mixed, &n.Interrupts, &n.Copies, &n.Span, &n.Replayed, &n.ReplayedTokens,
		&n.Calls, &n.ToolTokens, &n.WaitedTicks)
	s.ints(&n.Lags)
	s.ints(&n.TokenLags)

	// Samples stand once each, the lists of them name their numbers.
	known := c.known()
	codeList(s, &known, (*codec).sample)
	samples, requests := make(map[int]*Sample), make(map[int]*Request)
	for _, x := range known {
		samples[x.ID] = x
		for _, r := range x.Requests {
			requests[r.ID] = r
		}
	}
	byNumber := func(id int) *Sample { return samples[id] }
	for _, list := range [...]*[]*Sample{&c.flight, &c.done, &c.fresh, &c.batch, &c.buffer, &c.replayed} {
		codeRefs(s, list, func(x *Sample) int { return x.ID }, byNumber)
	}
	number, request := func(r *Request) int { return r.ID }, func(id int) *Request { return requests[id] }
	codeRefs(s, &c.queue, number, request)
	codeRefs(s, &c.parked, number, request)
	codeRefs(s, &c.ended, number, request)
	for _, w := range c.workers {
		s.int(&w.Version, &w.leaves, &w.coming, (*int)(&w.state), &w.from, &w.step, &w.until, &w.want, (*int)(&w.reload), &w.debt)
		codeRefs(s, &w.Active, number, request)
		codeRefs(s, &w.joins, number, request)
	}
}

// known are all samples that are still of use, by ID: also those that are gone but
// for a request that a worker has not let go.
func (c *Core) known() []*Sample {
	all := slices.Concat(c.flight, c.done, c.fresh, c.batch, c.buffer, c.replayed)
	for _, r := range c.ended {
		all = append(all, r.Sample)
	}
	for _, w := range c.workers {
		for _, r := range w.Active {
			all = append(all, r.Sample)
		}
	}
	return slices.Compact(byID(all))
}

// codec writes integers, or reads them into the same places, so that one list of
// fields serves both ways.
type codec struct {
	data   []byte
	reads  bool
	broken bool
}

func (s *codec) int(values ...*int) {
	for _, v := range values {
		switch {
		case !s.reads:
			s.data = binary.LittleEndian.AppendUint64(s.data, uint64(*v))
		case len(s.data) < 8:
			s.broken = true
			*v = 0
		default:
			*v = int(binary.LittleEndian.Uint64(s.data))
			s.data = s.data[8:]
		}
	}
}

func (s *codec) bool(values ...*bool) {
	for _, v := range values {
		n := 0
		if *v {
			n = 1
		}
		s.int(&n)
		*v = n != 0
	}
}

func (s *codec) ints(list *[]int) {
	codeList(s, list, func(s *codec, v *int) { s.int(v) })
}

func codeList[T any](s *codec, list *[]T, code func(*codec, *T)) {
	n := len(*list)
	s.int(&n)
	if s.reads {
		if n < 0 || n > len(s.data)/8 {
			s.broken = true
			n = 0
		}
		*list = make([]T, n)
	}
	for i := range *list {
		code(s, &(*list)[i])
	}
}

func codeRefs[T any](s *codec, list *[]*T, number func(*T) int, find func(int) *T) {
	codeList(s, list, func(s *codec, x **T) {
		n := -1
		if !s.reads {
			n = number(*x)
		}
		if s.int(&n); s.reads {
			if *x = find(n); *x == nil {
				panic("reference")
			}
		}
	})
}

func (s *codec) command(c *Command) {
	s.int((*int)(&c.Kind), &c.Time, &c.Worker, &c.Steps, &c.Version, (*int)(&c.Cache), (*int)(&c.Old), &c.Oldest)
	s.bool(&c.Update, &c.Stuck)
	s.ints(&c.Requests)
	s.ints(&c.Origins)
	codeList(s, &c.Cached, func(s *codec, v *bool) { s.bool(v) })
	s.ints(&c.Samples)
	s.ints(&c.Replayed)
	s.ints(&c.Weights)
}

func (s *codec) sample(p **Sample) {
	if s.reads {
		*p = &Sample{}
	}
	x := *p
	s.int(&x.ID, &x.Origin, &x.Version, &x.Step, &x.Submitted, &x.Ended, &x.Oldest, &x.Newest, &x.Prompt, &x.Tokens, &x.Left, &x.Worth, &x.Uses)
	s.bool(&x.taken)
	codeList(s, &x.Requests, func(s *codec, p **Request) {
		if s.reads {
			*p = &Request{Sample: x}
		}
		r := *p
		s.int(&r.ID, &r.Made, &r.pieced, &r.Worker, (*int)(&r.at), &r.length, &r.allowed, &r.to, (*int)(&r.then), &r.back, &r.reply, &r.replied)
		s.bool(&r.cached, &r.calling)
		s.ints(&r.calls)
		codeList(s, &r.Pieces, func(s *codec, p *Piece) { s.int(&p.Version, &p.Tokens) })
	})
}

func (c *Core) admit() {
	for range c.policy.Admit(c.view()) {
		c.submit(c.submitted)
	}
}

// submit lets a sample wait for slots.
func (c *Core) submit(origin int) {
	s := &Sample{
		ID: c.submitted, Origin: origin, Version: c.version, Step: c.step, Submitted: c.now, Ended: -1,
		Oldest: -1, Newest: -1, Prompt: c.config.Prompt, Left: c.config.Group,
	}
	for i := range c.width {
		r := &Request{ID: s.ID*c.width + i, Sample: s, Worker: -1, length: -1, allowed: c.quota(), to: -1}
		s.Requests = append(s.Requests, r)
		c.queue = append(c.queue, r)
	}
	c.unfinished += c.width
	c.submitted++
	c.counts.Submitted++
	c.flight = append(c.flight, s)
}

// place gives waiting requests to workers, as the policy says, or the first to the emptiest.
func (c *Core) place() {
	due := c.timer == c.now
	if due {
		c.timer += c.traits.Every
	}
	if c.suspended || len(c.queue) == 0 && !c.published && !due {
		return
	}
	v := c.view()
	v.Due = due
	var moves []Move
	if p, ok := c.policy.(placer); ok {
		moves = p.Place(v)
	} else {
		moves = newPlan(v).queue(v.Queue, 0)
	}
	for _, m := range moves {
		c.move(m)
	}
}

// move puts a request on a worker, at the end of the step it makes. A running one
// takes its keys and values along.
func (c *Core) move(m Move) {
	r := m.Request
	r.to = m.Worker
	if m.Steps > 0 {
		r.allowed = m.Steps
	}
	switch r.at {
	case waiting:
		if c.queue[0] == r {
			c.queue = c.queue[1:]
		} else {
			c.queue = without(c.queue, r)
		}
		c.put(r, joining)
	case active:
		c.leave(r, joining)
	}
}
