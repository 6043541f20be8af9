package engine

import (
	"fmt"

	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/moe"
)

// Options are what a caller may ask of one pass.
type Options struct {
	// Save keeps the activations of every layer for the backward pass.
	Save bool
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
	// lets every row see all positions up to its own.
	Retention *Retention
	// Mass, for passes with a cache, takes up the attention that positions receive;
	// nil leaves it out.
	Mass *Mass
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
	gate    moe.Gate
	team    *kernel.Team
	workers []worker

	weights *Weights
	pack    *Pack
	options Options
	num     siteNumerics
	rows    int
	targets int

	layers []layerState
	embed  []float32 // [rows, d] the residual stream entering layer 0
	routes []uint8   // [rows][layer][rank] experts visited
	gates  []float32 // [rows][layer][rank] and their gates, if they are kept
	head   headState
	back   backState
	run    runner
}

// worker is what one worker owns.
type worker struct {
	scratch  kernel.Scratch
	combiner combiner
	// span is what it computes of the pass.
	span
	keys, values []float32 // one sequence's in the cache's layout, when the pass has no cache
	projected    []float32 // output of a row-parallel projection
	qkv          []float32 // output of the fused projection, one row after the other
	// keys and values that one row still holds, under a retention
	keptKeys, keptValues []float32
}

// layerState is what one layer computed. Rows are the pack's, in order, except
// in the expert buffers, whose rows are (token, rank) pairs sorted by expert
// within each worker's share.
type layerState struct {
	attentionIn quantized // normed input of the attention, as the projections read it
	inverse     []float32 // [rows] 1/rms of the attention norm
	queries     []float32 // [rows, d], rotated
	keys        []float32 // [rows, kvHeads*headDim], rotated, as the cache holds them
	values      []float32 // [rows, kvHeads*headDim], as the cache holds them
	lse         []float32 // [rows, heads]
	mixed       quantized // attention output before the output projection
	middle      []float32 // [rows, d] residual stream between attention and experts

	normed      []float32 // [rows, d] the second norm's output
	postInverse []float32
	logits      []float32 // [rows, experts] router logits
	routes      []uint8   // [rows, topK]
	gates       []float32 // [rows, topK]
	live        []float32 // [rows, topK] the gates of the current logits where others are replayed
	dispatch    []moe.Dispatch
	expertIn    quantized // [rows*topK, d]
	gateUp      []float32 // [rows*topK, 2*dff]
	activated   quantized // [rows*topK, dff]
	expertOut   []float32 // [rows*topK, d]
	out         []float32 // [rows, d] residual stream leaving
}

// headState is what the head computed for the target rows.
type headState struct {
	in      []float32 // [targets, d] gathered residual stream
	normed  []float32 // [targets, d]
	inverse []float32
	logits  []float32 // [targets, vocab]
}

// NewPass returns a pass for models of that shape, spread over that many
// workers. One worker runs in the calling goroutine.
func NewPass(c model.Config, workers int) *Pass {
	p := &Pass{config: c, team: kernel.NewTeam(workers), workers: make([]worker, max(workers, 1))}
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
		o.Retention.check(pack.Rows(), p.config.Layers*p.config.KVHeads, p.config.Context)
	}
	p.weights, p.pack, p.options = w, pack, o
	p.rows = pack.Rows()
	p.targets = len(pack.Targets)
	if pack.Targets == nil {
		p.targets = p.rows
	}
	batchRows := o.BatchRows
	if batchRows == 0 {
		batchRows = p.rows
	}
	p.num = w.Numerics.sites(batchRows)
	p.share()
	p.grow()
}

// Reserve makes room for packs of so many rows whose layers are saved, and
// leaves the buffers of the residual stream and its gradient that long until
// the next Begin. As long as no pack is larger they stay in place, so views of
// them stay valid.
func (p *Pass) Reserve(rows int) {
	p.rows, p.targets, p.options = rows, 0, Options{Save: true}
	for i := range p.workers {
		// Their shares are those of the last pack, which may have changed since.
		k := &p.workers[i]
		k.rowFrom, k.rowTo, k.seqFrom, k.seqTo = 0, 0, 0, 0
	}
	p.grow()
	p.growBack()
}

// share splits the pack's sequences among the workers, contiguous and about
// equal in rows.
func (p *Pass) share() {
	sequence, target := 0, 0
	for i := range p.workers {
		k := &p.workers[i]
		k.seqFrom, k.rowFrom, k.targetFrom = sequence, p.pack.Offsets[sequence], target
		goal := p.rows * (i + 1) / len(p.workers)
		for sequence < p.pack.Sequences() && p.pack.Offsets[sequence+1] <= goal {
			sequence++
		}
		if i == len(p.workers)-1 {
			sequence = p.pack.Sequences()
		}
		k.seqTo, k.rowTo = sequence, p.pack.Offsets[sequence]
		if p.pack.Targets == nil {
			target = k.rowTo
		} else {
			for target < p.targets && int(p.pack.Targets[target]) < k.rowTo {
				target++
			}
		}
		k.targetTo = target
	}
}

// grow makes room for the pack.
func (p *Pass) grow() {
	c, n := p.config, p.rows
	slots := n * max(c.TopK, 1)
	states := 1
	if p.options.Save {
		states = c.Layers
	}
	for len(p.layers) < states {
		p.layers = append(p.layers, layerState{dispatch: make([]moe.Dispatch, len(p.workers))})
	}
	p.embed = grown(p.embed, n*c.DModel)
	p.routes = grown(p.routes, n*c.Layers*c.TopK)
	if p.options.KeepGates {
		p.gates = grown(p.gates, n*c.Layers*c.TopK)
	}
	for l := range p.layers[:states] {
		s := &p.layers[l]
		inputs := p.num.inputs
		s.attentionIn.grow(n, c.DModel, inputs)
		s.mixed.grow(n, c.DModel, inputs)
		s.expertIn.grow(slots, c.DModel, inputs)
		s.activated.grow(slots, c.DFF, inputs)
		s.inverse, s.postInverse = grown(s.inverse, n), grown(s.postInverse, n)
		s.queries, s.keys, s.values = grown(s.queries, n*c.DModel), grown(s.keys, n*c.KVDim()), grown(s.values, n*c.KVDim())
		s.lse = grown(s.lse, n*c.Heads)
		s.middle, s.normed, s.out = grown(s.middle, n*c.DModel), grown(s.normed, n*c.DModel), grown(s.out, n*c.DModel)
		s.logits = grown(s.logits, n*c.Experts)
		s.routes, s.gates = grown(s.routes, n*c.TopK), grown(s.gates, n*c.TopK)
		if p.options.Gates != nil {
			s.live = grown(s.live, n*c.TopK)
		}
		s.gateUp = grown(s.gateUp, slots*2*c.DFF)
		s.expertOut = grown(s.expertOut, slots*c.DModel)
	}
	h := &p.head
	h.in, h.normed = grown(h.in, p.targets*c.DModel), grown(h.normed, p.targets*c.DModel)
	h.inverse = grown(h.inverse, p.targets)
	h.logits = grown(h.logits, p.targets*c.Vocab)
	for i := range p.workers {
		k := &p.workers[i]
		k.qkv = grown(k.qkv, (k.rowTo-k.rowFrom)*(c.DModel+2*c.KVDim()))
		k.projected = grown(k.projected, max(k.rowTo-k.rowFrom, 1)*c.DModel)
		if p.options.Cache == nil {
			longest := 0
			for s := k.seqFrom; s < k.seqTo; s++ {
				longest = max(longest, p.pack.Offsets[s+1]-p.pack.Offsets[s])
			}
			k.keys = grown(k.keys, c.KVDim()*roundUp16(longest))
			k.values = grown(k.values, c.KVDim()*roundUp16(longest))
		}
	}
}

// state returns the buffers of a layer: its own when they are saved, the one
// shared set when not.
func (p *Pass) state(layer int) *layerState {
	if p.options.Save {
		return &p.layers[layer]
	}
	return &p.layers[0]
}

// entering returns the residual stream that enters a layer. Without saved
// layers its buffer is the one the layer then overwrites: attention reads the
// stream before the experts write it.
func (p *Pass) entering(layer int) []float32 {
	if layer == 0 {
		return p.embed
	}
	return p.state(layer - 1).out
}

// Logits returns the logits of the target rows, [targets, vocab], valid until
// the next Begin.
func (p *Pass) Logits() []float32 { return p.head.logits[:p.targets*p.config.Vocab] }

// Hidden returns the normed residual stream that the head read for the target
// rows, [targets, d], valid until the next Begin.
func (p *Pass) Hidden() []float32 { return p.head.normed[:p.targets*p.config.DModel] }

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

// Forward runs the whole pass. Each worker takes its rows through every layer
// without waiting for the others.
func (p *Pass) Forward() { p.run.start(stageForward, 0) }

// The stages of the forward pass, for callers that interleave them with
// something else: the learner's graph has one operation for each.

// ForwardEmbed fills the residual stream from tokens and positions.
func (p *Pass) ForwardEmbed() { p.run.start(stageEmbed, 0) }

// ForwardAttention runs the attention block of a layer.
func (p *Pass) ForwardAttention(layer int) { p.run.start(stageAttention, layer) }

// ForwardExperts runs the feed-forward block of a layer.
func (p *Pass) ForwardExperts(layer int) { p.run.start(stageExperts, layer) }

// ForwardHead computes the logits of the target rows.
func (p *Pass) ForwardHead() { p.run.start(stageHead, 0) }

// Embedded is the residual stream entering layer 0, [rows, d].
func (p *Pass) Embedded() []float32 { return p.embed[:p.rows*p.config.DModel] }

// Middle is the residual stream of a layer between attention and experts,
// [rows, d]. The pass must have saved its layers.
func (p *Pass) Middle(layer int) []float32 {
	return p.layers[layer].middle[:p.rows*p.config.DModel]
}

// Out is the residual stream leaving a layer, [rows, d]. The pass must have
// saved its layers.
func (p *Pass) Out(layer int) []float32 { return p.layers[layer].out[:p.rows*p.config.DModel] }
