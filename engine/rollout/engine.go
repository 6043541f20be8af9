package rollout

import (
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

// Version returns the version of the weights.
func (e *Engine) Version() int { return e.weights.Version }

// Close releases the workers, those of its siblings too.
func (e *Engine) Close() {
	e.together.pass.Close()
	e.team.Close()
	if e.drafter != nil {
		e.drafter.pass.Close()
	}
	if e.partner != nil {
		e.partner.pass.Close()
	}
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
