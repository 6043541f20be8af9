package engine

import (
	"driftlab/engine/kernel"
	"driftlab/moe"
	"driftlab/precision"
)

// worker is what one worker owns. Its buffers hold the block it has at work;
// what the backward pass will read lies in the buffers of the Pass instead.
type worker struct {
	scratch  kernel.Scratch
	combiner combiner
	span         // the block at work
	index    int // of the block

	kv        kernel.KV // one sequence's in the cache's layout, when the pass has no cache
	delta     []float32 // one sequence's state of linear attention, when the pass has no cache
	prefix    int32     // the prefix at their beginning, -1 without one
	projected []float32 // output of a row-parallel projection
	// of unmerged adapters: [rows, rank], and their outputs, adapter by adapter
	hidden, products []float32
	ranked           []float32 // [rows, experts] router logits that a predictor has shifted
	// keys and values that one row still holds, under a retention
	kept kernel.KV
	// of sparse attention: the index's keys of a sequence, and a row's scores
	indexKeys, scores []float32
	wanted            []int32 // rows of the block that are targets
	ids               []uint8 // routes of the routed rows; zeros in a dense model

	stream layerStream
	layer  layerState // of every layer in turn
	in     inputs     // of every layer in turn, kept or not
	back   blockGrad
	_      [64]byte // the next worker's is another cache line
}

// layerStream is what a layer leaves: the residual stream and the router's
// decisions. Rows are the pack's, or those of a worker's block.
type layerStream struct {
	middle []float32 // [rows, d] residual stream between attention and experts
	logits []float32 // [rows, experts] router logits
	routes []uint8   // [rows, topK]
	out    []float32 // [rows, d] residual stream leaving
}

// layerState is the inside of a layer. Rows are the pack's, or those of a
// worker's block, except in the expert buffers, whose rows are (token, rank)
// pairs sorted by expert within each block.
type layerState struct {
	inverse []float32 // [rows] 1/rms of the attention norm
	fused   []float32 // [rows, width] the fused projection: queries and keys, rotated, and values, as the cache holds them; in linear attention q, k, v, z, b, a
	lse     []float32 // [rows, heads]
	mixed   quantized // attention output before the output projection
	delta   deltaState
	index   []float32 // [rows, width] queries, key and weights of the index of sparse attention

	postInverse []float32      // [rows] 1/rms of the second norm
	gates       []float32      // [rows, topK]
	live        []float32      // [rows, topK] the gates of the current logits where others are replayed
	dispatch    []moe.Dispatch // by block; a worker's state has one
	gateUp      []float32      // [rows*topK, 2*dff]
	expertOut   []float32      // [rows*topK, d]
}

// headState is what the head computed for the target rows.
type headState struct {
	in      []float32 // [targets, d] gathered residual stream
	normed  quantized // [targets, d]
	inverse []float32
	logits  []float32 // [targets, vocab]
}

// kept reports whether the insides of the layers wait for the backward pass.
func (p *Pass) kept() bool { return p.options.Save && !p.options.Recompute }

func (p *Pass) grow() {
	c := &p.config
	rows, longest := p.largest()
	p.routes = grown(p.routes, p.rows*c.Layers*c.TopK)
	if p.options.KeepGates {
		p.gates = grown(p.gates, p.rows*c.Layers*c.TopK)
	}
	if p.options.KeepRouter {
		p.router = grown(p.router, p.rows*c.Layers*c.Experts)
	}
	if p.options.Predictor != nil {
		p.read = grown(p.read, p.rows*c.Layers*c.DModel)
	}
	if p.options.Save {
		p.growStreams()
	}
	if p.kept() {
		for len(p.layers) < c.Layers {
			p.layers = append(p.layers, layerState{})
		}
		for l := range p.layers {
			p.growState(&p.layers[l], p.rows, p.mixers[l:l+1])
			p.growPlans(&p.layers[l], rows)
		}
	}
	p.growPrefixes()
	h := &p.head
	h.in, h.inverse = grown(h.in, p.targets*c.DModel), grown(h.inverse, p.targets)
	p.growOperand(&h.normed, p.targets, c.DModel, p.num.headInputs)
	h.normed.seen = true // by Hidden
	h.logits = grown(h.logits, p.targets*c.Vocab)
	for i := range p.workers {
		p.growWorker(&p.workers[i], rows, longest)
	}
}

func (p *Pass) growPlans(s *layerState, rows int) {
	if n := len(p.blocks); len(s.dispatch) < n {
		s.dispatch = append(s.dispatch, make([]moe.Dispatch, n+n/8+len(p.workers)-len(s.dispatch))...)
	}
	for i := range s.dispatch {
		s.dispatch[i].Grow(rows*max(p.config.TopK, 1), p.config.FFNs())
	}
}

// growStreams makes room for what every layer leaves of the whole pack.
func (p *Pass) growStreams() {
	p.embed = grown(p.embed, p.rows*p.config.DModel)
	for len(p.streams) < p.config.Layers {
		p.streams = append(p.streams, layerStream{})
	}
	for l := range p.streams {
		p.growStream(&p.streams[l], p.rows)
	}
}

func (p *Pass) growStream(f *layerStream, rows int) {
	c := &p.config
	f.middle, f.out = grown(f.middle, rows*c.DModel), grown(f.out, rows*c.DModel)
	f.logits, f.routes = grown(f.logits, rows*c.Experts), grown(f.routes, rows*c.TopK)
}

// growState makes room for the inside of a layer of any of the given kinds.
func (p *Pass) growState(s *layerState, rows int, kinds []mixer) {
	c := &p.config
	slots := rows * max(c.TopK, 1)
	p.growOperand(&s.mixed, rows, c.DModel, p.num.inputs)
	s.inverse, s.postInverse = grown(s.inverse, rows), grown(s.postInverse, rows)
	s.fused = grown(s.fused, rows*c.LargestProjection())
	for _, m := range kinds {
		m.grow(p, s, rows)
	}
	s.gates = grown(s.gates, rows*c.TopK)
	if p.options.Gates != nil {
		s.live = grown(s.live, rows*c.TopK)
	}
	s.gateUp = grown(s.gateUp, slots*2*c.DFF)
	s.expertOut = grown(s.expertOut, slots*c.DModel)
}

func (p *Pass) growWorker(k *worker, rows, longest int) {
	c := &p.config
	if !p.kept() {
		p.growState(&k.layer, rows, p.mixers)
		if k.layer.dispatch == nil {
			k.layer.dispatch = make([]moe.Dispatch, 1)
		}
	}
	if !p.options.Save {
		p.growStream(&k.stream, rows)
	}
	if p.options.Predictor != nil {
		k.ranked = grown(k.ranked, rows*c.Experts)
	}
	p.growInputs(&k.in, rows)
	k.projected = grown(k.projected, rows*c.DModel)
	k.wanted, k.ids = grown(k.wanted, rows), grown(k.ids, rows*max(c.TopK, 1))
	if p.options.Cache == nil {
		floats := p.heads * c.HeadDim() * roundUp16(longest)
		k.kv.Keys, k.kv.Values = grown(k.kv.Keys, floats), grown(k.kv.Values, floats)
		if p.linear {
			k.delta = grown(k.delta, deltaMemorySize(*c, p.weights.Numerics))
		}
	}
}

// place returns where the inside of a layer lies for a worker's block, and the
// block's rows there.
func (p *Pass) place(k *worker, layer int) (s *layerState, from, to int) {
	if p.kept() {
		return &p.layers[layer], k.rowFrom, k.rowTo
	}
	return &k.layer, 0, k.rowTo - k.rowFrom
}

func (p *Pass) fusedWidth(layer int) int { return p.weights.layers[layer].qkv.Out }

// plan returns which rows of a worker's block go to which expert.
func (p *Pass) plan(k *worker, layer int) *moe.Dispatch {
	if p.kept() {
		return &p.layers[layer].dispatch[k.index]
	}
	return &k.layer.dispatch[0]
}

// leaves is what a layer leaves of a worker's block.
func (p *Pass) leaves(k *worker, layer int) layerStream {
	c, f, from, to := &p.config, &k.stream, 0, k.rowTo-k.rowFrom
	if p.options.Save {
		f, from, to = &p.streams[layer], k.rowFrom, k.rowTo
	}
	return layerStream{f.middle[from*c.DModel : to*c.DModel], f.logits[from*c.Experts : to*c.Experts],
		f.routes[from*c.TopK : to*c.TopK], f.out[from*c.DModel : to*c.DModel]}
}

// entering returns the residual stream that enters a layer, the rows of a
// worker's block. What is not saved is overwritten by the layer: attention reads
// the stream before the experts write it.
func (p *Pass) entering(k *worker, layer int) []float32 {
	if layer == 0 && p.options.Save {
		return rowsOf(p.embed, k, p.config.DModel)
	}
	return p.leaves(k, max(layer-1, 0)).out
}

// rowsOf is the block's part of a buffer of the pack.
func rowsOf[T any](x []T, k *worker, width int) []T { return x[k.rowFrom*width : k.rowTo*width] }

// siteNumerics is Numerics resolved for each kind of operation of a pass.
type siteNumerics struct {
	norm        kernel.Numerics
	projection  kernel.Numerics // column-parallel: query, key, value, gate, up
	rowParallel kernel.Numerics // attention output, expert down projection
	adapters    kernel.Numerics // products of unmerged adapters
	router      kernel.Numerics
	head        kernel.Numerics
	attention   kernel.AttentionNumerics
	inputs      precision.Quantizer
	headInputs  precision.Quantizer
	queries     precision.Format
	index       precision.Quantizer
	eager       bool
	kvCache     precision.Quantizer
	activations precision.Format
	gradients   precision.Format
	gradient    kernel.Numerics // products of the backward pass
	delta       kernel.DeltaNumerics
	experts     ExpertParallel // how a token's experts are added
	// plainCache is true where rounding to kvCache changes nothing that was rounded to
	// activations before.
	plainCache bool
}

// round rounds x in place; fp32 leaves it alone, memory included.
func round(f precision.Format, x []float32) {
	if !f.Identity() {
		f.RoundSlice(x, x)
	}
}

// sites resolves the numerics for a batch of that many rows. Tensor
// parallelism splits the sums of the row-parallel projections only, as in
// Megatron (arXiv:1909.08053): the others hold whole rows on every rank.
func (n *Numerics) sites(batchRows int) siteNumerics {
	r := n.Reduction.At(batchRows)
	whole := r.Local()
	at := func(r kernel.Reduction, out precision.Format) kernel.Numerics {
		return kernel.Numerics{Accumulator: n.Accumulator, Output: out, Reduction: r}
	}
	return siteNumerics{
		// Norms are computed in fp32 everywhere and rounded once.
		norm:        kernel.Numerics{Accumulator: precision.FP32, Output: n.Activations, Reduction: whole, Eager: n.Eager},
		projection:  at(whole, n.Activations),
		rowParallel: at(r, n.Activations),
		adapters:    at(whole, n.adapterFormat()),
		router:      at(whole, n.Router),
		head:        at(whole, n.Head),
		attention: kernel.AttentionNumerics{
			Kernel: n.Attention, Tile: n.Tile, Splits: n.Splits, Scores: n.Scores,
			Probs: n.Probabilities, Output: n.Activations, Reduction: whole, Eager: n.Eager,
		},
		inputs: n.Inputs, kvCache: n.KVCache, headInputs: n.headInputs(), queries: n.queries(), index: n.index(), eager: n.Eager,
		delta:       kernel.DeltaNumerics{LinearAttention: n.LinearAttention, Operands: n.Activations, Output: n.Activations},
		plainCache:  n.KVCache.Identity() || n.KVCache == precision.Unscaled(n.Activations),
		activations: n.Activations, gradients: n.Gradients,
		gradient: kernel.Numerics{Accumulator: precision.FP32, Output: n.Gradients},
		experts:  n.ExpertParallel.essential(),
	}
}
