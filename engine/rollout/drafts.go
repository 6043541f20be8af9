package rollout

import (
	"driftlab/engine"
	"driftlab/engine/column"
)

// reserveDrafts makes room for what is recorded of speculative decoding.
func (r *response) reserveDrafts(wanted bool, n int) {
	r.Draft, r.Window, r.DrafterVersion = optional(r.Draft, wanted, n), optional(r.Window, wanted, n), optional(r.DrafterVersion, wanted, n)
	r.LogpVerifier, r.LogpLaw = optional(r.LogpVerifier, wanted, n), optional(r.LogpLaw, wanted, n)
	r.DraftTV = optional(r.DraftTV, wanted, n)
}

// replyDrafts records n tokens of a tool, which nobody drafts.
func (r *response) replyDrafts(n int) {
	if r.Draft == nil {
		r.LawTV = blank(r.LawTV, n) // of a partner, which says nothing to a reply
		return
	}
	for range n {
		r.tested(tested{}, -1, -1)
	}
}

// drafted are the tokens drafted for a slot's next pass.
func (e *Engine) drafted(slot int) []int32 {
	if !e.speculates {
		return nil
	}
	return e.drafter.slots[slot].tokens
}

// undrafted records a token that the engine drew by itself.
func (e *Engine) undrafted(m *sampler, r *response, d drawn) {
	if e.speculates {
		r.tested(tested{law: m.processed(d, e.sampling), verifier: d.logp}, r.windows, -1)
		r.windows++
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
func (r *response) tested(t tested, window int32, version int) {
	if t.flag == column.Undrafted {
		version = -1
	}
	r.Draft, r.Window, r.DrafterVersion = append(r.Draft, t.flag), append(r.Window, window), append(r.DrafterVersion, int32(version))
	r.LogpVerifier, r.LogpLaw = append(r.LogpVerifier, t.verifier), append(r.LogpLaw, t.law)
	r.DraftTV, r.LawTV = append(r.DraftTV, t.tv), append(r.LawTV, t.shift)
}
