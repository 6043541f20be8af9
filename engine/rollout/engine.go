package rollout

import (
	"math/rand/v2"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/trainer/batch"
)

// Request asks for one response.
type Request struct {
	// Prompt holds the prompt's tokens, at least one.
	Prompt []int32
	// Seed and Stream choose the response's random numbers.
	Seed, Stream uint64
}

// Engine samples responses. It holds its own copy of the weights, in its own
// formats, and is not safe for concurrent use.
type Engine struct {
	config  model.Config
	weights *engine.Weights
	pass    *engine.Pass
	cache   *engine.Cache
	sampler sampler

	pack    engine.Pack
	slots   []slot
	ids     []int   // cache slots of the pack's sequences
	targets []int32 // the last row of each
	out     recording
}

// slot is one sequence being decoded.
type slot struct {
	request int // index of the request, -1 when free
	length  int // tokens whose keys are in the cache
	rng     rand.PCG
}

// New returns an engine that decodes up to slots sequences at a time, spread
// over that many workers.
func New(c model.Config, n engine.Numerics, slots, workers int) *Engine {
	return &Engine{
		config: c, weights: engine.NewWeights(c, n), pass: engine.NewPass(c, workers),
		cache: engine.NewCache(c, slots), slots: make([]slot, slots),
	}
}

// Publish takes the parameters as the weights of the given version.
func (e *Engine) Publish(p *model.Params, version int) { e.weights.Publish(p, version) }

// Version returns the version of the weights.
func (e *Engine) Version() int { return e.weights.Version }

// Close releases the workers.
func (e *Engine) Close() { e.pass.Close() }

// Generate samples one response per request into dst, in the order of the
// requests: Offsets, Prompt, Token, Mask, LogpRoll, KeptMass, Support, Version,
// Finished, the routes and, if asked for, DistRoll. Other columns are left
// alone. A slot that finishes takes the next request at once.
func (e *Engine) Generate(dst *batch.Batch, requests []Request, s Sampling) {
	s.check()
	e.out.begin(e.config, len(requests), s)
	for i := range e.slots {
		e.slots[i].request = -1
	}
	next, running := 0, 0
	for next < len(requests) || running > 0 {
		for i := range e.slots {
			if e.slots[i].request < 0 && next < len(requests) {
				e.slots[i].request, e.slots[i].length = next, 0
				e.slots[i].rng.Seed(requests[next].Seed, requests[next].Stream)
				next++
				running++
			}
		}
		running -= e.step(requests, s)
	}
	e.out.store(dst, requests, e.config, s)
}

// step advances every running sequence by one token: a whole prompt for the
// new ones, the last token for the others. It returns how many finished.
func (e *Engine) step(requests []Request, s Sampling) (finished int) {
	e.pack.Reset()
	e.targets, e.ids = e.targets[:0], e.ids[:0]
	for i := range e.slots {
		k := &e.slots[i]
		if k.request < 0 {
			continue
		}
		if k.length == 0 {
			e.pack.Add(0, requests[k.request].Prompt)
		} else {
			e.pack.Add(k.length, e.out.last(k.request))
		}
		e.targets = append(e.targets, int32(e.pack.Rows()-1))
		e.ids = append(e.ids, i)
	}
	e.pack.Targets = e.targets
	e.pass.Begin(e.weights, &e.pack, engine.Options{Cache: e.cache, Slots: e.ids})
	e.pass.Forward()
	logits, routes, vocab := e.pass.Logits(), e.pass.Routes(), e.config.Vocab
	perRow := e.config.Layers * e.config.TopK
	for n, i := range e.ids {
		k := &e.slots[i]
		from, to := e.pack.Offsets[n], e.pack.Offsets[n+1]
		if k.length == 0 {
			e.out.promptRoutes(k.request, routes[from*perRow:(to-1)*perRow])
		}
		d := e.sampler.draw(logits[n*vocab:(n+1)*vocab], s, &k.rng)
		e.out.add(k.request, d, routes[(to-1)*perRow:to*perRow], e.sampler.logp, e.weights.Version)
		k.length += to - from
		if d.token == s.Stop || e.out.length[k.request] == s.MaxTokens || k.length == e.config.Context {
			e.out.finished[k.request] = d.token == s.Stop
			k.request = -1
			finished++
		}
	}
	return finished
}
