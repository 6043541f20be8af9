package rollout

import (
	"fmt"
	"slices"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/model"
)

// Request asks for one response.
type Request struct {
	// ID is the caller's name for the response.
	ID int
	// Prompt holds the prompt's tokens, at least one.
	Prompt []int32
	// Group and PromptID say which prompt it is: they are recorded with the response.
	Group    int
	PromptID int64
	// Seed and Stream choose the response's random numbers.
	Seed, Stream uint64
	// Given holds the response if it is known: its tokens are decoded as ever,
	// in the same company, but taken from here and not drawn. Log-probs and
	// distributions are then those of the whole vocabulary. nil samples.
	Given []int32
	// Tool answers the calls of the response; nil for a response without an
	// environment.
	Tool Tool
	// Fuse is the share of the partner's logits in what its tokens are drawn by, 0 to 1
	// (SetPartner); 0 asks no partner.
	Fuse float64
}

// Engine samples responses. It holds its own copy of the weights, in its own
// formats, or shares weights that others have (Load), and is not safe for
// concurrent use.
type Engine struct {
	config  model.Config
	indexed bool // a layer has sparse attention
	weights *engine.Weights
	own     *engine.Weights // memory of what is published
	cache   *engine.Cache
	prefill Prefill
	// retainer compresses the cache; nil for a full one.
	retainer *retainer
	// drafter proposes tokens; nil where none are drafted. speculates says that
	// they are now.
	drafter    *drafter
	speculates bool
	// partner has a part in the logits; nil where there is none. asks says that it has
	// now.
	partner *partner
	asks    bool
	// prefixes are what outlives responses of their prompts; nil without.
	prefixes *prefixStore

	*workerPool
	slots []slot
	active
}

// slot has room for the keys of one sequence: the response that it decodes, or
// the last one that it has completed.
type slot struct{ *response }

// New returns an engine that decodes up to slots sequences at a time, spread
// over that many workers.
func New(c model.Config, n engine.Numerics, slots, workers int) *Engine {
	w := engine.NewForwardWeights(c, n)
	return &Engine{
		config: c, indexed: c.HasLayer(model.SparseAttention), weights: w, own: w, cache: engine.NewCache(c, n, slots), slots: make([]slot, slots),
		workerPool: newWorkerPool(c, n, workers),
	}
}

// Sibling returns another engine of the same shape and numerics, with slots, a
// cache and, once they are loaded, weights of its own. The two take turns at the
// same workers: one engine more costs its cache. It reads prompts as the first does;
// a retention, a shared prefix cache, a drafter and a partner would be its own.
func (e *Engine) Sibling(slots int) *Engine {
	return &Engine{
		config: e.config, indexed: e.indexed, weights: e.weights, own: engine.NewForwardWeights(e.config, e.weights.Numerics),
		cache: engine.NewCache(e.config, e.weights.Numerics, slots), slots: make([]slot, slots), prefill: e.prefill, workerPool: e.workerPool,
	}
}

// Publish takes the parameters as the weights of the given version. Nothing may
// be in progress: see Load.
func (e *Engine) Publish(p *model.Params, version int) { e.PublishMixed(p, version, version) }

// PublishMixed is Publish of parameters that claim a version, the oldest of which are of
// the actual one.
func (e *Engine) PublishMixed(p *model.Params, version, actual int) {
	e.idle("Publish")
	if e.weights != e.own {
		e.own.SetKVScales(e.weights.KVScales())
		e.weights = e.own
	}
	e.own.Publish(p, version)
	e.own.ActualVersion = actual
	e.prefixes.synced()
}

// Calibrate finds the scales of a static KV cache from the given sequences, with
// the weights as published: see engine.Weights.
func (e *Engine) Calibrate(sequences [][]int32, margin float64) {
	e.weights.Calibrate(sequences, margin)
}

// KVScales returns the scales of a static KV cache, nil for ones.
func (e *Engine) KVScales() engine.KVScales { return e.weights.KVScales() }

// SetKVScales puts a copy of the scales in place; nil stands for ones.
func (e *Engine) SetKVScales(s engine.KVScales) { e.weights.SetKVScales(s) }

// Close releases the workers, those of its siblings too.
func (e *Engine) Close() {
	e.together.pass.Close()
	e.team.Close()
	e.drafter.close()
	e.partner.close()
}

// Generate samples one response per request into dst, in the order of the
// requests: Offsets, Prompt, Group, PromptID, Token, Mask, Turn, LogpRoll, KeptMass, Support,
// Version, Stale, Finished, the routes and, if asked for, their gates and DistRoll;
// ActualVersion if asked for; KVKept if the cache is compressed, LawTV if there is a partner, CachedTokens and
// CachedVersion if there is a shared prefix cache. A slot that finishes
// takes the next request at once.
//
// A request's tool is asked after each token. What it replies is read like a
// prompt, several tokens in a pass together with the decoding of other responses, and
// counts against MaxTokens. A response whose next reply, with a token to follow,
// has no room ends unfinished with its call: no response ends in a reply. In the
// columns a reply has Mask false, the turn of its call, log-probs of 0 and the
// routes of the rows before it, as any token has.
//
// It is Begin, Advance to the end and Collect, with the workers at their own pace.
func (e *Engine) Generate(dst *column.Sampled, requests []Request, s Sampling) {
	e.idle("Generate")
	e.Begin(requests, s)
	e.drain()
	e.settle()
	e.ids = e.Collect(dst, e.ids[:0])
}

// Follow draws the next tokens of the pack that step has laid out: it implements
// engine.Follower. Each worker of the pass draws for its own sequences as soon as
// it has their logits: a response's random stream is its own, so who draws, and
// when, changes nothing.
func (l *lane) Follow(worker, from, to, target int) {
	e, m := l.engine, &l.samplers[worker]
	s, vocab := &e.sampling, e.config.Vocab
	end := target
	for end < len(l.targets) && int(l.targets[end]) < l.pack.Offsets[to] {
		end++
	}
	logits, visited := l.pass.Logits()[target*vocab:end*vocab], visits{routes: l.pass.Routes(), perRow: e.config.Layers * e.config.TopK}
	m.block.next, m.block.rows = 0, 0
	if s.Gates {
		visited.gates = l.pass.Gates()
	}
	if e.indexed {
		visited.kept, visited.words = l.pass.Choices(), e.config.Layers*engine.RetentionWords(e.config.Context)
	}
	for n := from; n < to; n++ {
		slot := l.ids[n]
		k := e.slots[slot].response
		first, rows := l.pack.Offsets[n], l.pack.Offsets[n+1]-l.pack.Offsets[n]
		if drafts := len(e.drafted(slot)); drafts > 0 {
			k.reads(rows-drafts-1, visited.rows(first, first+rows))
			l.verify(m, slot, logits, visited.rows(first+rows-drafts-1, first+rows))
			logits = logits[(drafts+1)*vocab:]
			continue
		}
		k.reads(rows, visited.rows(first, first+rows))
		if k.length < k.known() {
			continue
		}
		row, shift := e.fused(m, slot, logits[:vocab])
		if e.speculates || e.asks {
			m.prepare(row, vocab, s.Temperature)
		} else {
			m.prepare(logits, vocab, s.Temperature)
		}
		d := m.drawOrRead(row, *s, k)
		logits = logits[vocab:]
		if e.speculates {
			k.tested(tested{law: m.processed(d, e.sampling), verifier: d.logp}, k.windows, -1)
			k.windows++
		}
		if e.partner != nil {
			k.LawTV = append(k.LawTV, shift)
		}
		k.add(d, visited.rows(first+rows-1, first+rows), m.logp)
		e.finish(m, k, d.token)
	}
}

// finish completes a response that ends with its newest token, or lets its
// environment answer.
func (e *Engine) finish(m *sampler, r *response, token int32) {
	if e.ended(r, token) || !e.answer(m, r) {
		r.Finished[0], r.done = token == e.sampling.Stop, true
	}
}

// drawOrRead samples the next token of a response from the row at hand. Where the response is
// given it reads the token, whose log-prob is over the whole vocabulary.
func (m *sampler) drawOrRead(logits []float32, s Sampling, r *response) drawn {
	if r.request.Given == nil {
		return m.drawPrepared(logits, s, &r.rng)
	}
	return m.settle(drawn{kept: 1}, r.request.Given[len(r.Token)], logits, s)
}

func (e *Engine) ended(r *response, token int32) bool {
	if r.request.Given != nil {
		return len(r.Token) == len(r.request.Given)
	}
	return token == e.sampling.Stop || len(r.Token) == e.sampling.MaxTokens || r.length == e.config.Context
}

// Tool is an environment that writes into responses: a calculator, a search
// engine, an interpreter. Its tokens condition what follows but no model
// chose them: they stand in the response with Mask false.
type Tool interface {
	// Reply appends to dst what the environment writes after the newest token
	// of the response, and nothing where that token is no call. It is a function
	// of its arguments, which it may not keep, and may be asked by several
	// goroutines at a time.
	Reply(dst, prompt, response []int32) []int32
}

// answer lets the environment of a response write after its newest token. It
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
// and kept mass 1, and no drafter; the turn of the call is theirs too. What the rows before them
// visit is filled in when the engine reads those.
func (r *response) addReply(reply []int32) {
	n := len(r.Token)
	turn := r.Turn[n-1]
	r.Extend(len(reply))
	copy(r.Token[n:], reply)
	for i := n; i < len(r.Token); i++ {
		r.Turn[i], r.KeptMass[i] = turn, 1
		if r.Draft != nil {
			r.Window[i], r.DrafterVersion[i] = -1, -1
		}
	}
}
