package rollout

import (
	"fmt"
	"slices"
)

// Tool is an environment that writes into responses: a calculator, a search
// engine, an interpreter. Its tokens condition what follows but are nobody's
// choice: they stand in the response with Mask false.
type Tool interface {
	// Reply appends to dst what the environment writes behind the newest token
	// of the response, and nothing where that token is no call. It is a function
	// of its arguments, which it may not keep, and may be asked by several
	// goroutines at a time.
	Reply(dst, prompt, response []int32) []int32
}

// answer lets the environment of a slot write behind its newest token. It
// reports false if the reply and one more token do not fit: then nothing is
// written, and the response ends with its call.
func (e *Engine) answer(m *sampler, k *slot, s Sampling) bool {
	if k.tool == nil {
		return true
	}
	m.reply = k.tool.Reply(m.reply[:0], k.prompt, e.out.response(k.request))
	if len(m.reply) == 0 {
		return true
	}
	length := e.out.length[k.request] + len(m.reply)
	if length >= s.MaxTokens || len(k.prompt)+length > e.config.Context {
		return false
	}
	if k.given != nil {
		if at := e.out.length[k.request]; length >= len(k.given) || !slices.Equal(k.given[at:length], m.reply) {
			panic(fmt.Sprintf("rollout: the tool replies %v to request %d, where the given response reads %v",
				m.reply, k.request, k.given[at:min(length, len(k.given))]))
		}
	}
	e.out.addReply(k.request, m.reply, e.weights.Version)
	return true
}

// addReply appends the environment's tokens to a response. They have log-prob 0
// and kept mass 1; the turn of the call is theirs too. Their routes come when
// the engine reads what stands before them.
func (r *recording) addReply(request int, reply []int32, version int) {
	for _, token := range reply {
		at := request*r.maxTokens + r.length[request]
		r.length[request]++
		r.token[at], r.logp[at], r.kept[at], r.version[at] = token, 0, 1, int32(version)
		r.support[at] = span{}
		r.mask[at], r.turn[at] = false, r.turn[at-1]
		if len(r.dist) > 0 {
			clear(r.dist[at*r.vocab : (at+1)*r.vocab])
		}
	}
}

// replyRoutes keeps the routes of rows that read a response while its next
// tokens, from the one of index first on, are known already.
func (r *recording) replyRoutes(request, first int, v visits) {
	r.visit(request*r.maxTokens+first, v)
}

// response returns the tokens of a response so far.
func (r *recording) response(request int) []int32 {
	at := request * r.maxTokens
	return r.token[at : at+r.length[request]]
}
