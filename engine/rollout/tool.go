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

// answer lets the environment of a response write behind its newest token. It
// reports false if the reply and one more token do not fit: then nothing is
// written, and the response ends with its call.
func (e *Engine) answer(m *sampler, r *response) bool {
	q := &r.request
	if q.Tool == nil {
		return true
	}
	m.reply = q.Tool.Reply(m.reply[:0], q.Prompt, r.Token)
	if len(m.reply) == 0 {
		return true
	}
	at, length := len(r.Token), len(r.Token)+len(m.reply)
	if length >= e.sampling.MaxTokens || len(q.Prompt)+length > e.config.Context {
		return false
	}
	if q.Given != nil && (length >= len(q.Given) || !slices.Equal(q.Given[at:length], m.reply)) {
		panic(fmt.Sprintf("rollout: the tool replies %v to request %d, where the given response reads %v",
			m.reply, r.order, q.Given[at:min(length, len(q.Given))]))
	}
	r.addReply(m.reply)
	return true
}

// addReply appends the environment's tokens to a response. They have log-prob 0
// and kept mass 1; the turn of the call is theirs too. What the rows before them
// visit is filled in when the engine reads those.
func (r *response) addReply(reply []int32) {
	n := len(reply)
	turn := r.Turn[len(r.Turn)-1]
	r.Token = append(r.Token, reply...)
	for range reply {
		r.Mask, r.Turn, r.KeptMass = append(r.Mask, false), append(r.Turn, turn), append(r.KeptMass, 1)
	}
	r.LogpRoll, r.Support = blank(r.LogpRoll, n), blank(r.Support, n)
	r.Version, r.Stale = blank(r.Version, n), blank(r.Stale, n)
	r.ActualVersion = blank(r.ActualVersion, n)
	r.RoutesRoll, r.GatesRoll = blank(r.RoutesRoll, n*r.Layers*r.TopK), blank(r.GatesRoll, n*r.Layers*r.TopK)
	r.DistRoll, r.KVKept = blank(r.DistRoll, n*r.Vocab), blank(r.KVKept, n*r.KVPlanes*r.KVWords)
	r.replyDrafts(n)
	r.Offsets[1] = len(r.Token)
}

// blank appends n zeroes to a column, if it is recorded.
func blank[T any](x []T, n int) []T {
	if x == nil {
		return nil
	}
	return append(x, make([]T, n)...)
}
