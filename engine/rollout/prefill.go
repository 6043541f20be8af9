package rollout

// Prefill says how prompts are read. With numerics that decode as they score it
// changes no bit of a response; with batch-variant ones it does, since it decides
// how many rows share a pass.
type Prefill struct {
	// Chunk is the largest number of tokens of a prompt, or of a tool's reply,
	// that one pass reads, beside the decoding of other responses (chunked
	// prefill); 0 reads them whole.
	Chunk int
	// PrefixCache takes keys and values of a prompt's beginning over from another
	// response of the same call that has read the same tokens. The last token of a
	// prompt is always read, for its logits. Responses to one prompt that begin
	// together wait for the first of them. Where it changes no bit it is always done.
	PrefixCache bool
}

// SetPrefill says how the calls of Generate to come read prompts.
func (e *Engine) SetPrefill(p Prefill) {
	if p.Chunk < 0 {
		panic("rollout: negative chunk of a prompt")
	}
	e.prefill = p
}

// next returns the tokens that a slot reads in the next pass.
func (e *Engine) next(k *slot) []int32 {
	unread := k.prompt
	if at := k.length - len(k.prompt); at >= 0 {
		unread = e.out.response(k.request)[at:]
	} else {
		unread = unread[k.length:]
	}
	if c := e.prefill.Chunk; c > 0 {
		unread = unread[:min(len(unread), c)]
	}
	return unread
}

// known is the number of tokens of a slot that are there to be read: its prompt
// and the response so far.
func (e *Engine) known(k *slot) int { return len(k.prompt) + e.out.length[k.request] }

// shares reports whether a slot takes over what another has read. A retention
// that ranks positions needs the attention that each prompt gives them.
func (e *Engine) shares() bool {
	ranks := e.retainer != nil && e.retainer.mass != nil
	return e.prefill.PrefixCache || e.weights.Numerics.DecodesAsScored() && !ranks
}

// reuse gives slot i, which has read nothing, the longest beginning of its
// prompt that another slot of the lane has read, whether that one is still in use
// or not. It reports false if the slot has to wait for an earlier request with the
// same prompt; the earliest never waits.
func (l *lane) reuse(i int) bool {
	e := l.engine
	k := &e.slots[i]
	most := len(k.prompt) - 1
	longest, donor := 0, -1
	for j := l.first; j < l.end; j += l.stride {
		d := &e.slots[j]
		if j == i || len(d.prompt) == 0 {
			continue
		}
		n := commonPrefix(k.prompt[:most], d.prompt[:len(d.prompt)-1])
		if n == most && n > d.length && d.request >= 0 && d.request < k.request {
			return false
		}
		if n = min(n, d.length); n > longest {
			longest, donor = n, j
		}
	}
	if donor >= 0 {
		e.cache.CopyPrefix(i, donor, longest)
		e.out.shareRoutes(k.source, e.slots[donor].source, longest)
		k.length = longest
	}
	return true
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
