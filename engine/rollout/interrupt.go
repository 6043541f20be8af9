package rollout

import (
	"errors"
	"fmt"
	"slices"

	"driftlab/engine"
)

// Continuation says how a response in progress goes on when new weights are
// loaded. Before a first token, or the first since its prefix was read again, there
// is nothing to keep, and what was read is read again, unless it is pinned.
type Continuation string

const (
	// Reprefill reads prompt and response again with the new weights, and goes on
	// with those (AReaL, arXiv:2505.24298): each token has the log-prob that the
	// weights of its Version give it. The routes on record stay those of the pass that
	// sampled the token after a row, of a prompt's rows the first.
	Reprefill Continuation = "reprefill"
	// KeepStale goes on with the new weights and the old keys and values (SkyRL's
	// default). What a token saw then belongs to no single version: it is Stale, and
	// its row attends to each position as the weights of that position's row
	// computed it, the row's before token n being Version[n] and the prompt's Version[0].
	KeepStale Continuation = "keep_stale"
	// Pin finishes a response with the weights that it began with (DORA,
	// arXiv:2604.26256); the new ones serve what begins.
	Pin Continuation = "pin"
)

// Check says why an engine with these settings cannot continue so, if it cannot.
// recalibrates tells that scales of a static KV cache are found anew while
// responses are in progress.
func (c Continuation) Check(r Retention, recalibrates bool) error {
	switch {
	case c != Reprefill && c != KeepStale && c != Pin:
		return fmt.Errorf("%q is not one of %s, %s and %s", c, Reprefill, KeepStale, Pin)
	case c == Reprefill && r.Policy != "":
		return fmt.Errorf("%s cannot read again what a compressed KV cache gave up: keep_stale or pin go on with what is left", c)
	case c == KeepStale && recalibrates:
		return errors.New("keep_stale mixes keys stored with the old scales of a static KV cache with the new ones: calibrate once, or use reprefill or pin")
	}
	return nil
}

// Load puts other weights in the place of the engine's, which begin with the next
// response; what is in progress continues as given. The weights are shared, not
// copied, and may serve any number of engines: they stay as they are while one of
// them has responses that go by them. A version is the name of its weights: loading
// the one that is there keeps no key stale. It panics where Check has an error.
func (e *Engine) Load(w *engine.Weights, how Continuation) {
	if !w.Numerics.Equal(e.weights.Numerics) {
		panic(fmt.Sprintf("rollout: weights for %s in an engine of %s", w.Numerics.Name, e.weights.Numerics.Name))
	}
	e.mustContinue(how)
	e.weights = w
	e.prefixes.synced()
	for _, r := range e.begun {
		if !r.done {
			r.reload(w, how)
		}
	}
}

// mustContinue panics where responses cannot continue so.
func (e *Engine) mustContinue(how Continuation) {
	var r Retention
	if e.retainer != nil {
		r = e.retainer.Retention
	}
	if err := how.Check(r, false); err != nil && len(e.begun) > 0 {
		panic("rollout: " + err.Error())
	}
}

// reload makes a response that has not finished continue with other weights.
func (r *response) reload(w *engine.Weights, how Continuation) {
	switch {
	case r.weights == nil || how == Pin: // not begun, or to stay as it is
		return
	case how == KeepStale && w.Version == r.weights.Version:
	case len(r.Token) == 0:
		r.forgetPrompt()
		r.length, r.read, r.held, r.filed, r.mixed = 0, 0, nil, false, false
		r.uncache()
	case how == Reprefill || r.rereads:
		r.length, r.stale, r.rereads, r.held, r.filed, r.mixed = 0, false, true, nil, false, false
	default:
		r.stale = true
	}
	r.weights = w
}

// Partial is a response that was interrupted: what has been recorded of it, its
// random state, and what the cache held of it. The engine keeps no copy.
type Partial struct{ response *response }

// Request is what was asked for: to begin once more from nothing, begin it.
func (p *Partial) Request() Request { return p.response.request }

// Tokens are the response's tokens so far.
func (p *Partial) Tokens() []int32 { return p.response.Token }

// held is what a slot held of a response.
type held struct {
	keys []float32 // and values, as engine.Cache appends them
	sets []uint64  // positions that a compressed cache has not given up
	mass []float32 // and the attention they received
}

// Interrupt takes responses that are not complete out of the engine: all, also
// those that have not had a slot yet, or those whose names the function, if there
// is one, chooses. They come in the order in which they were begun.
func (e *Engine) Interrupt(choose func(id int) bool) []*Partial {
	var out []*Partial
	taken := func(r *response) bool { return r.order < 0 }
	for _, r := range e.begun {
		if !r.done && (choose == nil || choose(r.request.ID)) {
			out = append(out, &Partial{r})
			r.order = -1
		}
	}
	for i := range e.slots {
		if r := e.slots[i].response; r.running() && taken(r) {
			r.held = e.hold(i)
			e.slots[i].response = nil
		}
	}
	e.begun = slices.DeleteFunc(e.begun, taken)
	e.queue.waiting = slices.DeleteFunc(e.queue.rest(), taken)
	e.queue.next.Store(0)
	return out
}

// Resume takes interrupted responses in, after what is in progress, each of them
// once: with the engine's weights, or pinned to those they have. Resumed as Pin, or
// with the weights they had as KeepStale, in any engine of the same numerics and
// settings, a response goes on as if nothing had happened; as Reprefill too, where
// the numerics decode as they score. It panics where Check has an error, and on
// what another kind of engine recorded.
func (e *Engine) Resume(partials []*Partial, s Sampling, how Continuation) {
	if err := e.resume(partials, s, how); err != nil {
		panic("rollout: " + err.Error())
	}
}

func (e *Engine) resume(partials []*Partial, s Sampling, how Continuation) error {
	s.check()
	e.open(s)
	for _, p := range partials {
		if err := e.fits(p.response); err != nil {
			return err
		}
	}
	for _, p := range partials {
		r := p.response
		p.response = nil
		r.reserve(e, false)
		r.order = e.order
		e.asks = e.asks || r.request.Fuse > 0
		e.enqueue(r)
		e.mustContinue(how)
		r.reload(e.weights, how)
	}
	return nil
}

func (e *Engine) hold(slot int) *held {
	r := e.slots[slot].response
	h := &held{keys: e.cache.AppendSlot(nil, slot, r.length)}
	if k := e.retainer; k != nil {
		per := k.perRow()
		h.sets = slices.Clone(k.sets[slot*per : (slot+1)*per])
		if k.mass != nil {
			h.mass = k.mass.AppendSlot(nil, slot, r.length)
		}
	}
	return h
}

func (e *Engine) restore(slot int, r *response) {
	h := r.held
	if h == nil {
		return
	}
	r.held = nil
	e.cache.SetSlot(slot, r.length, h.keys)
	if k := e.retainer; k != nil {
		copy(k.sets[slot*k.perRow():], h.sets)
		if k.mass != nil {
			k.mass.SetSlot(slot, r.length, h.mass)
		}
	}
}
