package rollout

import (
	"driftlab/engine"
	"driftlab/engine/column"
)

// drafts is what is recorded of speculative decoding, in rows of maxTokens
// entries per request.
type drafts struct {
	flag            []column.DraftFlag
	window, version []int32
	verifier, law   []float64
	tv, shift       []float64
}

// beginDrafts makes room for a call of Generate, and forgets the drafter's cache.
func (e *Engine) beginDrafts(n int, s Sampling) {
	e.speculates = e.drafts(s)
	if e.drafter != nil {
		for i := range e.drafter.slots {
			w := &e.drafter.slots[i]
			w.request, w.tokens = -1, w.tokens[:0]
		}
	}
	if !e.speculates {
		return
	}
	d, size := &e.out.drafts, n*s.MaxTokens
	d.flag, d.window, d.version = resized(d.flag, size), resized(d.window, size), resized(d.version, size)
	d.verifier, d.law = resized(d.verifier, size), resized(d.law, size)
	d.tv, d.shift = resized(d.tv, size), resized(d.shift, size)
	for at := range size { // what replies of tools have
		d.flag[at], d.window[at], d.version[at] = column.Undrafted, -1, -1
		d.verifier[at], d.law[at], d.tv[at], d.shift[at] = 0, 0, 0, 0
	}
}

// drafted is the number of tokens drafted for a slot's next pass.
func (e *Engine) drafted(slot int) int {
	if !e.speculates {
		return 0
	}
	return len(e.drafter.slots[slot].tokens)
}

// undrafted records a token that the engine drew by itself.
func (e *Engine) undrafted(m *sampler, slot int, d drawn, s Sampling) {
	if e.speculates {
		w := &e.drafter.slots[slot]
		e.out.tested(e.slots[slot].request, tested{law: m.processed(d, s), verifier: d.logp}, w.windows, -1)
		w.windows++
	}
}

// processed is the log-prob of a settled token under the law it was drawn from,
// whichever one is recorded.
func (m *sampler) processed(d drawn, s Sampling) float64 {
	if s.LogProbs == "" || s.LogProbs == Processed {
		return d.logp
	}
	logp := float64(m.logp[d.token])
	if d.support != nil && !s.OnSupport {
		logp -= engine.LogOfMass(d.kept)
	}
	return logp
}

// tested records the outcome of the place of a response's next token.
func (r *recording) tested(request int, t tested, window int32, version int) {
	d, at := &r.drafts, request*r.maxTokens+r.length[request]
	if t.flag == column.Undrafted {
		version = -1
	}
	d.flag[at], d.window[at], d.version[at] = t.flag, window, int32(version)
	d.verifier[at], d.law[at], d.tv[at], d.shift[at] = t.verifier, t.law, t.tv, t.shift
}

// storeDrafts packs what was recorded into the batch, whose offsets are filled.
func (r *recording) storeDrafts(b *column.Sampled, n int, speculates bool) {
	if !speculates {
		b.Draft, b.Window, b.DrafterVersion = nil, nil, nil
		b.LogpVerifier, b.LogpLaw, b.DraftTV, b.LawTV = nil, nil, nil, nil
		return
	}
	b.Draft, b.Window, b.DrafterVersion = b.Draft[:0], b.Window[:0], b.DrafterVersion[:0]
	b.LogpVerifier, b.LogpLaw, b.DraftTV, b.LawTV = b.LogpVerifier[:0], b.LogpLaw[:0], b.DraftTV[:0], b.LawTV[:0]
	d := &r.drafts
	for i := range n {
		from := i * r.maxTokens
		to := from + r.length[i]
		b.Draft, b.Window = append(b.Draft, d.flag[from:to]...), append(b.Window, d.window[from:to]...)
		b.DrafterVersion = append(b.DrafterVersion, d.version[from:to]...)
		b.LogpVerifier, b.LogpLaw = append(b.LogpVerifier, d.verifier[from:to]...), append(b.LogpLaw, d.law[from:to]...)
		b.DraftTV, b.LawTV = append(b.DraftTV, d.tv[from:to]...), append(b.LawTV, d.shift[from:to]...)
	}
}
