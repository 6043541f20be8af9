package engine

import (
	"sync/atomic"

	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/moe"
)

// The backward pass treats every rounding of the forward pass as the identity
// (straight-through), reads the values the forward pass read, and rounds the
// gradients it hands on to Numerics.Gradients. Each stage has two halves: the
// gradient of its input, which blocks of sequences have at the same time, and the
// gradient of its parameters, to which one block adds after the other, so that
// every sum runs over the tokens in order.

// backState holds the gradients in flight for the whole pack.
type backState struct {
	grad      *model.Params // destination of the parameter gradients
	dlogits   []float32     // the caller's, [targets, vocab]
	stream    []float32     // [rows, d] gradient with respect to the residual stream
	sigma     []float64     // [layer][row] parts of the gradient of a perturbation's sizes
	aux       [][]float32   // by layer, [rows, experts]: the load-balancing loss's part of the router's
	auxWeight float64
	balance   moe.Balance
	turns     []atomic.Int64 // by stage of the queue: the block that adds next to the gradients of its parameters
	broken    atomic.Bool    // a block was not completed
}

// blockGrad holds the gradients inside a block.
type blockGrad struct {
	headNormed, headIn []float32 // [targets, d]

	normed     []float32 // [rows, d] of the experts' norm output
	expertOut  []float32 // [rows*topK, d]
	activated  []float32 // [rows*topK, dff]
	gateUp     []float32 // [rows*topK, 2*dff]
	expertIn   []float32 // [rows*topK, d]
	gates      []float32 // [rows, topK]
	logits     []float32 // [rows, experts]
	projection []float32 // [rows, d] of the attention's output projection
	mixed      []float32 // [rows, d]
	qkv        []float32 // [rows, width of the fused projection]
	delta      deltaGrad // of linear attention
	// what each sequence that goes on from a prefix adds to the gradient of the
	// prefix's keys and values, one sequence after the other
	prefixKV []float32
	joined   attended  // a prefix and a sequence that goes on from it
	attended []float32 // [rows, d] of the attention's norm output
}

// BeginBackward starts the backward pass of a pass that was saved. Parameter
// gradients are added to grad, which the caller has cleared; auxWeight scales
// the load-balancing loss of each layer (0 leaves it out).
func (p *Pass) BeginBackward(grad *model.Params, auxWeight float64) {
	if !p.options.Save {
		panic("engine: BeginBackward of a pass that was not saved")
	}
	if auxWeight != 0 && p.pack.Prefixes > 0 {
		panic("engine: the load-balancing loss counts every row once, and a prefix stands for several sequences")
	}
	p.back.grad, p.back.auxWeight = grad, auxWeight
	p.back.stream = grown(p.back.stream, p.rows*p.config.DModel)
	if p.options.Perturb != nil {
		p.back.sigma = grown(p.back.sigma, p.config.Layers*p.rows)
	}
	rows, _ := p.largest()
	for i := range p.workers {
		p.growBack(&p.workers[i].back, rows)
	}
}

func (p *Pass) growBack(b *blockGrad, n int) {
	c := &p.config
	slots := n * max(c.TopK, 1)
	b.headNormed, b.headIn = grown(b.headNormed, n*c.DModel), grown(b.headIn, n*c.DModel)
	b.normed, b.attended = grown(b.normed, n*c.DModel), grown(b.attended, n*c.DModel)
	b.mixed, b.projection = grown(b.mixed, n*c.DModel), grown(b.projection, n*c.DModel)
	b.expertOut, b.expertIn = grown(b.expertOut, slots*c.DModel), grown(b.expertIn, slots*c.DModel)
	b.activated, b.gateUp = grown(b.activated, slots*c.DFF), grown(b.gateUp, slots*2*c.DFF)
	b.gates, b.logits = grown(b.gates, n*c.TopK), grown(b.logits, n*c.Experts)
	b.qkv = grown(b.qkv, n*c.LargestProjection())
	for _, m := range p.mixers {
		m.growBack(p, b, n)
	}
}

// The stages of the backward pass wait in a queue as those of the forward pass
// do, until BackwardEmbed, the last, runs them all.

// BackwardHead takes d loss/d logits of the target rows, [targets, vocab], and
// leaves the gradient of the residual stream.
func (p *Pass) BackwardHead(dlogits []float32) {
	p.back.dlogits = dlogits
	p.queue = append(p.queue[:0], call{run: (*Pass).headGrad, weights: (*Pass).headWeightsGrad})
}

// BackwardExperts goes back through the feed-forward block of a layer.
func (p *Pass) BackwardExperts(layer int) {
	p.queue = append(p.queue, call{layer, (*Pass).expertsGrad, (*Pass).expertsWeightsGrad})
}

// BackwardAttention goes back through the attention block of a layer.
func (p *Pass) BackwardAttention(layer int) {
	p.queue = append(p.queue, call{layer, (*Pass).attentionGrad, (*Pass).attentionWeightsGrad})
}

// BackwardEmbed adds the gradient of the embeddings, after every stage before.
func (p *Pass) BackwardEmbed() {
	p.balanceGrad()
	p.queue = append(p.queue, call{weights: (*Pass).embedGrad})
	p.backward()
	p.queue = p.queue[:0]
}

// Stream is the gradient with respect to the residual stream at the point the
// backward pass has reached, [rows, d].
func (p *Pass) Stream() []float32 { return p.back.stream[:p.rows*p.config.DModel] }

func (p *Pass) headGrad(k *worker, _ int) {
	c, b, h, d := &p.config, &k.back, &p.head, p.config.DModel
	stream := rowsOf(p.back.stream, k, d)
	clear(stream)
	from, to := k.targetFrom, k.targetTo
	if from == to {
		return
	}
	n := to - from
	dlogits, normed, in := p.back.dlogits[from*c.Vocab:to*c.Vocab], b.headNormed[:n*d], b.headIn[:n*d]
	round(p.num.gradients, dlogits)
	kernel.LinearInputGrad(normed, dlogits, &p.weights.head, n, false, p.num.gradient, &k.scratch)
	kernel.RMSNormInputGrad(in, normed, h.in[from*d:to*d], h.inverse[from:to], p.weights.finalNorm, n, d, false)
	for i := range n {
		row := p.targetRow(from+i) - k.rowFrom
		copy(stream[row*d:(row+1)*d], in[i*d:(i+1)*d])
	}
	round(p.num.gradients, stream)
}

// expertsGrad turns the gradient of a layer's output into that of its middle,
// in place in the stream.
func (p *Pass) expertsGrad(k *worker, layer int) {
	c, w := &p.config, &p.weights.layers[layer]
	s, from, to := p.place(k, layer)
	if p.kept() {
		kernel.RMSNormAgain(k.in.normed[:(to-from)*c.DModel], s.postInverse[from:to], p.leaves(k, layer).middle, w.postNorm, to-from, c.DModel, p.num.norm)
		p.plan(k, layer).Gather(k.in.expert.dense, k.in.normed, c.DModel)
	} else {
		p.expertsInside(k, layer, s, from, to)
	}
	normed := k.back.normed[:(to-from)*c.DModel]
	p.combineGrad(k, layer, s, from)
	plan := p.plan(k, layer)
	for e := range c.FFNs() {
		if x, y := plan.Span(e); x < y {
			p.feedForwardGrad(k, s, w, e, from*max(c.TopK, 1), x, y)
		}
	}
	p.gatherGrad(k, layer, normed)
	if !c.Dense() {
		p.routeGrad(k, layer, s, from, to, normed)
	}
	round(p.num.gradients, normed)
	p.normGrad(k, normed, p.leaves(k, layer).middle, s.postInverse[from:to], w.postNorm)
}

// combineGrad splits the gradient of the weighted sum of experts into that of
// each expert's output and that of each gate.
func (p *Pass) combineGrad(k *worker, layer int, s *layerState, from int) {
	c, b := &p.config, &k.back
	d, top, first := c.DModel, c.TopK, from*max(c.TopK, 1)
	plan := p.plan(k, layer)
	plan.Gather(b.expertOut, rowsOf(p.back.stream, k, d), d)
	if c.Dense() {
		return
	}
	clear(b.gates[:(k.rowTo-k.rowFrom)*top])
	slots := len(plan.Row)
	var gates, dgates [8]float32
	for slot := 0; slot < slots; slot += len(gates) {
		n := min(len(gates), slots-slot)
		place := func(i int) int { return int(plan.Row[slot+i])*top + int(plan.Pair[slot+i])%top }
		for i := range n {
			gates[i] = s.gates[from*top+place(i)]
		}
		kernel.GatedGrad(dgates[:n], b.expertOut[slot*d:], s.expertOut[(first+slot)*d:], gates[:n], d)
		for i, dot := range dgates[:n] {
			b.gates[place(i)] = dot
		}
	}
	round(p.num.gradients, b.expertOut[:slots*d])
}

// feedForwardGrad goes back through one expert over the rows from..to of the
// block's expert buffers, which begin at the given row of s.
func (p *Pass) feedForwardGrad(k *worker, s *layerState, w *layerWeights, expert, first, from, to int) {
	c, b := &p.config, &k.back
	d, f, rows := c.DModel, c.DFF, to-from
	act, gateUp := b.activated[from*f:to*f], b.gateUp[from*2*f:to*2*f]
	kernel.LinearInputGrad(act, b.expertOut[from*d:to*d], &w.down[expert].Weight, rows, false, p.num.gradient, &k.scratch)
	kept := s.gateUp[(first+from)*2*f:][:rows*2*f]
	for r := range rows {
		x := kept[r*2*f:][:2*f]
		dx := gateUp[r*2*f : (r+1)*2*f]
		dy := act[r*f : (r+1)*f]
		if p.kept() && !p.num.eager {
			kernel.SiLUGateGradAgain(dx[:f], dx[f:], k.in.activated.dense[(from+r)*f:][:f], dy, x[:f], x[f:], f, p.num.activations)
			continue
		}
		if p.kept() {
			p.activate(k, x, from+r, from+r+1)
		}
		kernel.SiLUGateGrad(dx[:f], dx[f:], dy, x[:f], x[f:], f)
	}
	if p.kept() {
		k.in.expert.store(from, to, d)
		k.in.activated.store(from, to, f)
	}
	round(p.num.gradients, gateUp)
	kernel.LinearInputGrad(b.expertIn[from*d:to*d], gateUp, &w.gateUp[expert].Weight, rows, false, p.num.gradient, &k.scratch)
}

// gatherGrad sums the input gradients of a row's experts, in the order of the
// ranks; a row that visited none has none.
func (p *Pass) gatherGrad(k *worker, layer int, normed []float32) {
	b, d, top := &k.back, p.config.DModel, p.config.TopK
	rows, all := p.routedRows(k, layer)
	if !all {
		clear(normed)
	}
	if p.config.Dense() {
		for i := range rows {
			copy(normed[p.routedRow(k, i, all)*d:][:d], b.expertIn[i*d:])
		}
		return
	}
	position := p.plan(k, layer).Slot
	for i := range rows {
		sum := normed[p.routedRow(k, i, all)*d:][:d]
		clear(sum)
		for _, at := range position[i*top : (i+1)*top] {
			kernel.Add(sum, sum, b.expertIn[int(at)*d:][:d])
		}
	}
}

// routeGrad adds the router's part to the gradient of the norm's output: the
// policy's through the gates and the load-balancing loss's through all logits.
func (p *Pass) routeGrad(k *worker, layer int, s *layerState, from, to int, normed []float32) {
	c, b := &p.config, &k.back
	rows, e, top := to-from, c.Experts, c.TopK
	dlogits := b.logits[:rows*e]
	gates := s.gates
	if p.options.Gates != nil {
		gates = s.live // straight-through: recorded values, the softmax of the current logits
	}
	f := p.leaves(k, layer)
	p.gate.Grad(dlogits, b.gates[:rows*top], gates[from*top:to*top], f.logits, f.routes, rows)
	if b := &p.back; b.auxWeight != 0 {
		kernel.Add(dlogits, dlogits, rowsOf(b.aux[layer], k, e))
	}
	round(p.num.gradients, dlogits)
	kernel.LinearInputGrad(normed, dlogits, &p.weights.layers[layer].router, rows, true, p.num.gradient, &k.scratch)
}

// normGrad adds to the stream the gradient that comes back through a norm.
func (p *Pass) normGrad(k *worker, dy, x, inverse, gain []float32) {
	d := p.config.DModel
	stream := rowsOf(p.back.stream, k, d)
	kernel.RMSNormInputGrad(stream, dy, x, inverse, gain, k.rowTo-k.rowFrom, d, true)
	round(p.num.gradients, stream)
}

// attentionGrad turns the gradient of a layer's middle into that of its input,
// in place in the stream.
func (p *Pass) attentionGrad(k *worker, layer int) {
	b, w, d := &k.back, &p.weights.layers[layer], p.config.DModel
	s, from, to := p.place(k, layer)
	if p.kept() {
		in := &k.in.attention
		kernel.RMSNormAgain(in.dense[:(to-from)*d], s.inverse[from:to], p.entering(k, layer), w.inputNorm, to-from, d, p.num.norm)
		in.store(0, to-from, d)
	} else {
		p.attentionInside(k, layer, s, from, to)
		s.mixed.store(from, to, d)
	}
	rows := to - from
	copy(b.projection, rowsOf(p.back.stream, k, d))
	kernel.LinearInputGrad(b.mixed, b.projection, &w.output.Weight, rows, false, p.num.gradient, &k.scratch)
	p.mixers[layer].mixGrad(p, k, layer, s, from, to)
	qkv := b.qkv[:rows*w.qkv.Out]
	round(p.num.gradients, qkv)
	attended := b.attended[:rows*d]
	kernel.LinearInputGrad(attended, qkv, &w.qkv.Weight, rows, false, p.num.gradient, &k.scratch)
	p.normGrad(k, attended, p.entering(k, layer), s.inverse[from:to], w.inputNorm)
	p.sigmaGrad(k, layer)
}

// attendGrad goes back through attention and rotation, sequence by sequence,
// recomputing the attention weights from the saved queries and keys, and leaves
// the gradient of the fused projection.
func (p *Pass) attendGrad(k *worker, layer int, s *layerState, at int) {
	c, b := &p.config, &k.back
	d, kv, hd := c.DModel, c.KVDim(), c.HeadDim()
	width := p.fusedWidth(layer)
	b.prefixKV = b.prefixKV[:0]
	for q := range p.sequences(k) {
		dout, dfused := b.mixed[q.from*d:q.to*d], b.qkv[q.from*width:q.to*width]
		first, from, to := k.rowFrom+q.from, q.from+at, q.to+at
		fused := s.fused[from*width : to*width]
		own := attended{fused[d:], dfused[d:], width}
		all, before := p.join(b, layer, q.number, own)
		p.attention.AttendGrad(dfused, all.dkv, all.dkv[kv:], dout, fused, all.kv, all.kv[kv:], s.lse[from*c.Heads:to*c.Heads],
			width, all.stride, before, to-from, p.keptFor(first, layer), &k.scratch)
		p.part(b, layer, q.number, own, all)
		if table := p.weights.rotary; table != nil {
			kernel.RotaryGrad(dfused, width, p.pack.Positions[first:], to-from, c.Heads+c.KVHeads, hd, table)
		}
	}
}

// balanceGrad computes the gradient of the load-balancing loss. The loss
// couples all rows of the pack, so it comes before the blocks.
func (p *Pass) balanceGrad() {
	c, b := &p.config, &p.back
	if c.Dense() || b.auxWeight == 0 {
		return
	}
	for len(b.aux) < c.Layers {
		b.aux = append(b.aux, nil)
	}
	for l := range b.aux {
		b.aux[l] = grown(b.aux[l], p.rows*c.Experts)
		clear(b.aux[l])
		f := &p.streams[l]
		b.balance.AddGrad(b.aux[l], b.auxWeight, f.logits[:p.rows*c.Experts], f.routes[:p.rows*c.TopK], p.rows, c.TopK, c.Experts)
	}
}

// The second half of each stage of the backward pass: what a worker's block adds to the
// gradients of its parameters.

func (p *Pass) headWeightsGrad(k *worker, _ int) {
	c, g, h, d := &p.config, p.back.grad, &p.head, p.config.DModel
	first, n := k.targetFrom, k.targetTo-k.targetFrom
	kernel.LinearWeightGrad(g.Head, p.back.dlogits[first*c.Vocab:], h.normed.dense[first*d:], c.Vocab, d, n, &k.scratch)
	kernel.RMSNormGainGrad(g.FinalNorm, k.back.headNormed, h.in[first*d:], h.inverse[first:], n, d)
}

func (p *Pass) expertsWeightsGrad(k *worker, layer int) {
	c, g, b := &p.config, p.back.grad.Layer(layer), &k.back
	d, f := c.DModel, c.DFF
	for e := range c.FFNs() {
		if x, y := p.plan(k, layer).Span(e); x < y {
			kernel.LinearWeightGrad(g.W13[e], b.gateUp[x*2*f:], k.in.expert.dense[x*d:], 2*f, d, y-x, &k.scratch)
			kernel.LinearWeightGrad(g.W2[e], b.expertOut[x*d:], k.in.activated.dense[x*f:], d, f, y-x, &k.scratch)
		}
	}
	s, first, end := p.place(k, layer)
	if !c.Dense() {
		kernel.LinearWeightGrad(g.Router, b.logits, k.in.normed, c.Experts, d, end-first, &k.scratch)
	}
	kernel.RMSNormGainGrad(g.PostNorm, b.normed, p.leaves(k, layer).middle, s.postInverse[first:], end-first, d)
}

func (p *Pass) attentionWeightsGrad(k *worker, layer int) {
	g, d, width := p.back.grad.Layer(layer), p.config.DModel, p.fusedWidth(layer)
	s, first, end := p.place(k, layer)
	kernel.LinearWeightGrad(g.QKV, k.back.qkv, k.in.attention.dense, width, d, end-first, &k.scratch)
	kernel.LinearWeightGrad(g.O, k.back.projection, s.mixed.dense[first*d:], d, d, end-first, &k.scratch)
	kernel.RMSNormGainGrad(g.InputNorm, k.back.attended, p.entering(k, layer), s.inverse[first:], end-first, d)
	p.mixers[layer].weightsGrad(p, k, layer)
}

// embedGrad adds the gradient of the embeddings.
func (p *Pass) embedGrad(k *worker, _ int) {
	c, g, stream := &p.config, p.back.grad, rowsOf(p.back.stream, k, p.config.DModel)
	kernel.EmbedGrad(g.Embed, stream, p.pack.Tokens[k.rowFrom:k.rowTo], c.DModel)
	if g.PositionEmbed != nil {
		kernel.EmbedGrad(g.PositionEmbed, stream, p.pack.Positions[k.rowFrom:k.rowTo], c.DModel)
	}
}
