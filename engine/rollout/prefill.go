package rollout

// Prefill says how prompts are read. With numerics that decode as they score it
// changes no bit of a response; with batch-variant ones it does, since it decides
// how many rows share a pass.
type Prefill struct {
	// Chunk is the largest number of tokens of a prompt, or of a tool's reply,
	// that one pass reads, together with the decoding of other responses (chunked
	// prefill); 0 reads them whole.
	Chunk int
	// PrefixCache takes keys and values of a prompt's beginning over from another
	// response of the same call that has read the same tokens. The last token of a
	// prompt is always read, for its logits. Responses to one prompt that begin
	// together wait for the first of them. Where it changes no bit it is always done.
	PrefixCache bool
	// RecordAgain records the visits of what is read again under new weights in the place of
	// those of the pass that sampled: a server whose retracted requests return new routes next
	// to old log-probs (miles #3277). Log-probs and versions stay those of the sampling.
	RecordAgain bool
}

// SetPrefill says how prompts are read from now on. Nothing may be in progress.
func (e *Engine) SetPrefill(p Prefill) {
	e.idle("SetPrefill")
	if p.Chunk < 0 {
		panic("rollout: negative chunk of a prompt")
	}
	if p.PrefixCache && !e.cache.Cuts() {
		panic("rollout: a prefix cache with linear attention, whose state is that of all that a slot has read")
	}
	if p.PrefixCache && e.indexed {
		panic("rollout: a prefix cache with sparse attention, whose choices are recorded with each response")
	}
	e.prefill = p
}

// next returns what a response reads in the next pass: of its prompt, and of what
// stands behind it.
func (e *Engine) next(r *response) (prompt, tokens []int32) {
	prompt = r.request.Prompt
	tokens = r.Token[max(r.length-len(prompt), 0):]
	prompt = prompt[min(r.length, len(prompt)):]
	if c := e.prefill.Chunk; c > 0 {
		prompt = prompt[:min(len(prompt), c)]
		tokens = tokens[:min(len(tokens), c-len(prompt))]
	}
	return prompt, tokens
}

// shares reports whether a slot takes over what another has read. A retention
// that ranks positions needs the attention that each prompt gives them, and a state of
// linear attention is that of all that its slot has read; the choices of sparse attention
// are recorded with each response.
func (e *Engine) shares() bool {
	ranks := e.retainer != nil && e.retainer.mass != nil
	if !e.cache.Cuts() || e.indexed {
		return false
	}
	return e.prefill.PrefixCache || e.weights.Numerics.DecodesAsScored() && !ranks
}

// reuse gives slot i, which has read nothing, the longest beginning of its
// prompt that another slot of the lane has read, whether that one is still in use
// or complete. It reports false if the slot has to wait for an earlier response to
// the same prompt; the earliest never waits.
func (l *lane) reuse(i int) bool {
	e := l.engine
	k := e.slots[i].response
	prompt := k.request.Prompt
	most := len(prompt) - 1
	longest, donor := 0, -1
	for j := l.first; j < l.end; j += l.stride {
		d := e.slots[j].response
		if j == i || d == nil || !d.lends(k) || e.away(d) {
			continue
		}
		n := commonPrefix(prompt[:most], d.request.Prompt[:len(d.request.Prompt)-1])
		if n == most && n > d.length && !d.done && d.order < k.order {
			return false
		}
		if n = min(n, d.length); n > longest {
			longest, donor = n, j
		}
	}
	if donor >= 0 {
		e.cache.CopyPrefix(i, donor, longest)
		k.borrow(e.slots[donor].response, longest)
	}
	return true
}

// lends reports whether the keys of a response's prompt are those that another
// would compute, and the visits recorded with them those that it would record.
func (r *response) lends(to *response) bool {
	return r.weights == to.weights && !r.stale && !r.mixed &&
		(len(to.Token) > 0 || len(r.Token) == 0 || int(r.Version[0]) == r.weights.Version)
}

// borrow notes that the first n positions have been read by another.
func (r *response) borrow(from *response, n int) {
	if r.read == 0 {
		at := n * r.Layers * r.TopK
		v := visits{routes: from.PromptRoutes[0][:at]}
		if from.PromptGates != nil {
			v.gates = from.PromptGates[0][:at]
		}
		r.readPrompt(v)
	}
	if r.read > 0 && r.again {
		at := min(n*r.Layers*r.TopK, len(r.PromptRoutes[0]))
		copy(r.PromptRoutes[0], from.PromptRoutes[0][:at])
		if len(r.PromptGates) > 0 {
			copy(r.PromptGates[0], from.PromptGates[0][:at])
		}
	}
	r.length, r.read = n, max(r.read, n)
}

// commonPrefix is the number of tokens with which both begin.
func commonPrefix(a, b []int32) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
