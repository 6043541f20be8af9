package engine

import (
	"cmp"
	"fmt"
	"sync/atomic"

	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/moe"
)

// Options are what a caller may ask of one pass.
type Options struct {
	// Save keeps what the backward pass reads.
	Save bool
	// Recompute makes Save keep the residual stream and the routers' logits
	// alone; the backward pass computes the insides of each layer again, block by
	// block. The same bits, for more time and a fraction of the memory.
	Recompute bool
	// Replay holds expert ids in the order [row][layer][rank], to be used in
	// place of the router's choice, moe.NoRoute where none was recorded; nil
	// lets the router choose everywhere. The gates are computed from the
	// current logits either way, unless Gates are given.
	Replay []uint8
	// Gates are the gate values recorded with Replay, in the same order: they
	// weigh the replayed experts in place of what the current logits give. The
	// backward pass is straight-through: it differentiates
	//
	//	g = recorded + live(s) − sg[live(s)]
	//
	// so that the experts see the recorded gates and the router, through the
	// softmax of its current logits s, still learns. nil computes all gates.
	Gates []float32
	// KeepGates keeps the gates of every row and layer for Pass.Gates.
	KeepGates bool
	// KeepRouter keeps the logits of the routers for Pass.Router.
	KeepRouter bool
	// Predictor shifts the logits by which the routers rank their experts, where none
	// are replayed, and not their gates. The pass then keeps what the routers read for
	// Pass.RouterInputs. nil shifts nothing.
	Predictor *Predictor
	// Cache receives and supplies keys and values; nil keeps them for the pass
	// alone, and every sequence then starts at position 0.
	Cache *Cache
	// Slots are the cache slots of the pack's sequences.
	Slots []int
	// BatchRows is the number of rows a batch-variant reduction believes it
	// shares its batch with; 0 means the rows of the pack.
	BatchRows int
	// Follow goes on with a worker's sequences as soon as Forward has their
	// logits; nil does nothing.
	Follow Follower
	// Retention restricts attention to the positions of a compressed cache; nil
	// lets every row see all positions up to its own. In a model with sparse attention it is
	// the recorded choices that are replayed; where a row has none, it chooses.
	Retention *Retention
	// Mass, for passes with a cache, takes up the attention that positions receive;
	// nil leaves it out.
	Mass *Mass
	// Perturb adds noise to what enters the layers of a pass that is saved; nil adds none.
	Perturb *Perturbation
}

// Follower takes up what Forward leaves of the sequences from..to-1 of the
// pack, whose targets begin at the given one. Workers call it at the same time,
// each for its own share, so what it does may depend on the sequence alone.
type Follower interface {
	Follow(worker, from, to, target int)
}

// Pass runs a transformer over a pack of rows, forward and backward. It owns
// every buffer it needs and allocates only when a pack is larger than any
// before. One Pass belongs to one goroutine; inside, it spreads sequences over
// its workers. Rows never mix, except where attention says so, and every
// gradient is one sum over rows in order: the number of workers changes no bit.
type Pass struct {
	config  model.Config
	mixers  []mixer // by layer
	linear  bool    // a layer has linear attention
	indexed bool    // a layer has sparse attention
	heads   int     // of keys in a cache
	gate    moe.Gate
	team    *kernel.Team
	workers []worker
	// blockRows is about how many rows a block has.
	blockRows int

	weights   *Weights
	pack      *Pack
	options   Options
	num       siteNumerics
	attention kernel.Attention
	rows      int
	targets   int

	// blocks are the pack's, those of its prefixes first. Of the ones from first up to
	// end, next is the first that no worker has begun.
	blocks       []span
	prefixBlocks int
	first, end   int
	next         atomic.Int64
	queue        []call

	embed   []float32     // [rows, d] the residual stream entering layer 0, if it is saved
	streams []layerStream // by layer, if they are saved
	layers  []layerState  // by layer, if they are saved and not computed again
	prefix  []prefixState // by layer
	routes  []uint8       // [rows][layer][rank] experts visited
	gates   []float32     // [rows][layer][rank] and their gates, if they are kept
	router  []float32     // [rows][layer][expert] logits of the routers, if they are kept
	read    []float32     // [rows][layer][d] and their inputs, if there is a predictor
	head    headState
	// of sparse attention: what the rows attend to, and what of that is replayed
	choice   Retention
	recorded *Retention
	back     backState
	run      runner
}

// NewPass returns a pass for models of that shape, spread over that many
// workers. One worker runs in the calling goroutine.
func NewPass(c model.Config, workers int) *Pass {
	p := &Pass{config: c, mixers: mixers(c), linear: c.HasLayer(model.LinearAttention), indexed: c.HasLayer(model.SparseAttention), heads: keyHeads(&c), team: kernel.NewTeam(workers), workers: make([]worker, max(workers, 1)), blockRows: blockRows(&c)}
	if !c.Dense() {
		order, err := moe.ParseOrder(c.GateOrder)
		if err != nil {
			panic(err) // model.Config.Validate admits only the known orders
		}
		p.gate = moe.Gate{Experts: c.Experts, TopK: c.TopK, Order: order, Renormalise: c.Renormalise}
	}
	p.run.pass = p
	return p
}

// Team returns the pass's workers, for other work between two passes.
func (p *Pass) Team() *kernel.Team { return p.team }

// Close releases the workers.
func (p *Pass) Close() { p.team.Close() }

// Begin sets the pass up for a pack. The weights, the pack and the slices in
// the options must stay unchanged until the pass is done with them.
func (p *Pass) Begin(w *Weights, pack *Pack, o Options) {
	pack.check(p.config.Vocab, p.config.Context)
	if o.Gates != nil && len(o.Gates) != len(o.Replay) {
		panic(fmt.Sprintf("engine: %d gates for %d replayed experts", len(o.Gates), len(o.Replay)))
	}
	if o.Retention != nil {
		o.Retention.check(pack.Rows(), &p.config, p.indexed)
	}
	if (p.linear || p.indexed) && (o.Retention != nil && !p.indexed || o.Mass != nil || pack.Prefixes > 0) {
		panic("engine: linear and sparse attention have a memory of their own for each sequence: no compressed cache, and no prefixes that several go on from")
	}
	if pack.Prefixes > 0 && (o.Cache != nil || !w.Numerics.DecodesAsScored()) {
		panic(fmt.Sprintf("engine: %d prefixes in a pass with a cache, or with numerics that do not decode as they score", pack.Prefixes))
	}
	p.weights, p.pack, p.options = w, pack, o
	p.rows = pack.Rows()
	p.targets = len(pack.Targets)
	if pack.Targets == nil {
		p.targets = p.rows
	}
	if n, layers := o.Perturb, p.config.Layers; n != nil && (len(n.Sigma) != layers || len(n.Noise) != layers*p.rows*p.config.DModel) {
		panic(fmt.Sprintf("engine: perturbation of %d layers and %d numbers, the pack needs %d and %d", len(n.Sigma), len(n.Noise), layers, layers*p.rows*p.config.DModel))
	}
	p.num = w.Numerics.sites(cmp.Or(o.BatchRows, p.rows))
	p.attention = kernel.NewAttention(p.config.Heads, p.config.KVHeads, p.config.HeadDim(), p.num.attention)
	p.beginChoice()
	p.queue = p.queue[:0]
	p.blocks = p.blocks[:0] // of whole sequences, those of prefixes first
	next := p.cutPart(span{}, p.pack.Prefixes, p.pack.prefixRows())
	p.prefixBlocks = len(p.blocks)
	p.cutPart(next, p.pack.Sequences(), p.rows)
	p.grow()
}

// Reserve makes room for saved packs of the given number of rows, and leaves the
// buffers of the residual stream and its gradient that long until the next
// Begin. As long as no pack is larger they stay in place, so views of them stay
// valid.
func (p *Pass) Reserve(rows int) {
	p.rows = rows
	p.growStreams()
	p.back.stream = grown(p.back.stream, rows*p.config.DModel)
}

// Logits returns the logits of the target rows, [targets, vocab], valid until
// the next Begin.
func (p *Pass) Logits() []float32 { return p.head.logits[:p.targets*p.config.Vocab] }

// LogProbs returns the log-softmax of the logits, in memory of its own.
func (p *Pass) LogProbs() []float32 {
	out := make([]float32, p.targets*p.config.Vocab)
	kernel.LogSoftmaxRows(out, p.Logits(), p.targets, p.config.Vocab, 1)
	return out
}

// Hidden returns the normed residual stream that the head read for the target
// rows, [targets, d], valid until the next Begin.
func (p *Pass) Hidden() []float32 { return p.head.normed.dense[:p.targets*p.config.DModel] }

// Routes returns the experts the pass visited in the order [row][layer][rank],
// valid until the next Begin; empty for a dense model.
func (p *Pass) Routes() []uint8 { return p.routes }

// Gates returns the gates that weighed the experts of Routes, in the same
// order, valid until the next Begin. The pass must have kept them.
func (p *Pass) Gates() []float32 {
	if !p.options.KeepGates {
		panic("engine: Gates of a pass that did not keep them")
	}
	return p.gates
}

// Router returns the logits of the routers in the order [row][layer][expert], valid
// until the next Begin. The pass must have kept them.
func (p *Pass) Router() []float32 {
	if !p.options.KeepRouter {
		panic("engine: Router of a pass that did not keep its logits")
	}
	return p.router
}

// Forward runs the whole pass.
func (p *Pass) Forward() {
	p.ForwardEmbed()
	for l := range p.config.Layers {
		p.ForwardAttention(l)
		p.ForwardExperts(l)
	}
	p.ForwardHead()
}

// The stages of the forward pass, for callers that name them one by one: the
// learner's graph has one operation for each. A stage waits in a queue until
// ForwardHead, the last, runs them all, block by block: what one stage writes
// the next then finds in cache.

// ForwardEmbed fills the residual stream from tokens and positions.
func (p *Pass) ForwardEmbed() { p.queue = append(p.queue[:0], call{run: (*Pass).embedForward}) }

// ForwardAttention runs the attention block of a layer.
func (p *Pass) ForwardAttention(layer int) {
	p.queue = append(p.queue, call{layer: layer, run: (*Pass).attentionForward})
}

// ForwardExperts runs the feed-forward block of a layer.
func (p *Pass) ForwardExperts(layer int) {
	p.queue = append(p.queue, call{layer: layer, run: (*Pass).expertsForward})
}

// ForwardHead computes the logits of the target rows, after every stage before.
func (p *Pass) ForwardHead() {
	p.queue = append(p.queue, call{run: (*Pass).headForward})
	p.through(0, p.prefixBlocks)
	p.through(p.prefixBlocks, len(p.blocks))
	p.queue = p.queue[:0]
}

// Embedded is the residual stream entering layer 0, [rows, d]. The pass must
// have been saved.
func (p *Pass) Embedded() []float32 { return p.embed[:p.rows*p.config.DModel] }

// Middle is the residual stream of a layer between attention and experts,
// [rows, d]. The pass must have been saved.
func (p *Pass) Middle(layer int) []float32 {
	return p.streams[layer].middle[:p.rows*p.config.DModel]
}

// Out is the residual stream leaving a layer, [rows, d]. The pass must have been
// saved. Rows that are no targets do not visit the experts of the last layer,
// since nothing would read the result: theirs is the stream before them.
func (p *Pass) Out(layer int) []float32 { return p.streams[layer].out[:p.rows*p.config.DModel] }

// inputs are what the projections of a block read, but for the mix of the attention. They
// are quickly computed from what a pass keeps, so none of them is kept: the backward pass
// computes them again, into the memory of its worker. Row 0 is the first of the block.
type inputs struct {
	attention quantized // [rows, d] the first norm's output, as the projections read it
	normed    []float32 // [rows, d] the second norm's output
	expert    quantized // [rows*topK, d] its rows sorted by expert
	activated quantized // [rows*topK, dff] silu(W1·x)·(W3·x)
}

func (p *Pass) growInputs(in *inputs, rows int) {
	c, q := &p.config, p.num.inputs
	slots := rows * max(c.TopK, 1)
	p.growOperand(&in.attention, rows, c.DModel, q)
	in.normed = grown(in.normed, rows*c.DModel)
	p.growOperand(&in.expert, slots, c.DModel, q)
	p.growOperand(&in.activated, slots, c.DFF, q)
}

// activate computes the rows from..to of the activations from those of gateUp.
func (p *Pass) activate(k *worker, gateUp []float32, from, to int) {
	gate, f := kernel.SiLUGate, p.config.DFF
	if p.num.eager {
		gate = kernel.SiLUGateEager
	}
	for r := from; r < to; r++ {
		row := gateUp[(r-from)*2*f:][:2*f]
		gate(k.in.activated.dense[r*f:(r+1)*f], row[:f], row[f:], f, p.num.activations)
	}
}

// Perturbation is noise on what enters each layer of a pass that is saved,
// h_l ← h_l + σ_l·ξ: the layerwise perturbation of ALP (arXiv:2603.19470).
type Perturbation struct {
	// Sigma is the size of the noise, by layer.
	Sigma []float32
	// Noise is ξ, [layer][row][d], in the order of the pack's rows.
	Noise []float32
}

// noise is a block's share of a layer's.
func (p *Pass) noise(k *worker, layer int) []float32 {
	size := p.rows * p.config.DModel
	return rowsOf(p.options.Perturb.Noise[layer*size:(layer+1)*size], k, p.config.DModel)
}

func (p *Pass) perturb(k *worker, layer int) {
	if p.options.Perturb == nil || layer == p.config.Layers {
		return
	}
	sigma, x := p.options.Perturb.Sigma[layer], p.entering(k, layer)
	for i, z := range p.noise(k, layer) {
		x[i] += float32(sigma * z)
	}
	round(p.num.activations, x)
}

// sigmaGrad keeps each row's part of d loss/d σ of a layer, once the stream is the
// gradient of what enters it.
func (p *Pass) sigmaGrad(k *worker, layer int) {
	if p.options.Perturb == nil {
		return
	}
	d := p.config.DModel
	stream, noise := rowsOf(p.back.stream, k, d), p.noise(k, layer)
	for r := k.rowFrom; r < k.rowTo; r++ {
		at, sum := (r-k.rowFrom)*d, 0.0
		for i := at; i < at+d; i++ {
			sum += float64(float64(stream[i]) * float64(noise[i]))
		}
		p.back.sigma[layer*p.rows+r] = sum
	}
}

// SigmaGrad returns d loss/d σ by layer, after a backward pass of a perturbed one.
func (p *Pass) SigmaGrad() []float64 {
	grad := make([]float64, p.config.Layers)
	for l := range grad {
		for _, x := range p.back.sigma[l*p.rows : (l+1)*p.rows] {
			grad[l] += x
		}
	}
	return grad
}
