package rollout

import (
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/kernel"
	"driftlab/model"
)

// Request asks for one response.
type Request struct {
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
}

// Engine samples responses. It holds its own copy of the weights, in its own
// formats, and is not safe for concurrent use.
type Engine struct {
	config  model.Config
	weights *engine.Weights
	cache   *engine.Cache
	prefill Prefill
	// retainer compresses the cache; nil for a full one.
	retainer *retainer
	// drafter proposes tokens; nil where none are drafted. speculates says that
	// they are in the current call.
	drafter    *drafter
	speculates bool

	// together decodes all slots in step, lanes each their own: see share.
	together lane
	lanes    lanes
	team     *kernel.Team
	slots    []slot
	queue    queue
	out      recording
}

// slot is one sequence being decoded. A free one still holds the keys of its
// last sequence.
type slot struct {
	request int     // index of the request, -1 when free
	source  int     // index of the last request
	prompt  []int32 // of that request
	length  int     // tokens whose keys are in the cache
	given   []int32 // its response, if that is known
	tool    Tool    // its environment, if it has one
	done    bool    // the last pass completed the response
	rng     rand.PCG
}

// take begins a request.
func (k *slot) take(index int, r *Request) {
	k.request, k.source, k.prompt, k.length, k.given, k.tool = index, index, r.Prompt, 0, r.Given, r.Tool
	k.rng.Seed(r.Seed, r.Stream)
}

// New returns an engine that decodes up to slots sequences at a time, spread
// over that many workers.
func New(c model.Config, n engine.Numerics, slots, workers int) *Engine {
	e := &Engine{
		config: c, weights: engine.NewWeights(c, n),
		cache: engine.NewCache(c, slots), slots: make([]slot, slots),
	}
	e.together.begin(e, workers)
	if n.BatchInvariant() && workers > 1 {
		e.lanes, e.team = make(lanes, workers), kernel.NewTeam(workers)
		for i := range e.lanes {
			e.lanes[i].begin(e, 1)
		}
	}
	return e
}

// Publish takes the parameters as the weights of the given version.
func (e *Engine) Publish(p *model.Params, version int) { e.weights.Publish(p, version) }

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

// Close releases the workers.
func (e *Engine) Close() {
	e.together.pass.Close()
	e.team.Close()
	if e.drafter != nil {
		e.drafter.pass.Close()
	}
}

// Generate samples one response per request into dst, in the order of the
// requests: Offsets, Prompt, Group, PromptID, Token, Mask, Turn, LogpRoll, KeptMass, Support,
// Version, Finished, the routes and, if asked for, their gates and DistRoll;
// KVKept if the cache is compressed. A slot that finishes takes the next request
// at once.
//
// A request's tool is asked after each token. What it replies is read like a
// prompt, several tokens in a pass beside the decoding of other responses, and
// counts against MaxTokens. A response whose next reply, with a token to follow,
// has no room ends unfinished with its call: no response ends in a reply. In the
// columns a reply has Mask false, the turn of its call, log-probs of 0 and the
// routes of the rows before it, as any token has.
func (e *Engine) Generate(dst *column.Sampled, requests []Request, s Sampling) {
	s.check()
	checkGiven(requests, s)
	e.out.begin(e.config, len(requests), s)
	e.out.beginRetained(len(requests), e.retainer)
	e.beginDrafts(len(requests), s)
	for i := range e.slots {
		e.slots[i].request, e.slots[i].prompt = -1, nil
	}
	e.share(requests, s)
	e.queue.requests = nil
	e.out.store(dst, requests, e.config, s)
	e.out.storeRetained(dst, len(requests), e.retainer)
	e.out.storeDrafts(dst, len(requests), e.speculates)
}
