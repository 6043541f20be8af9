package engine

import (
	"math"

	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/moe"
)

// The backward pass treats every rounding of the forward pass as the identity
// (straight-through), reads the values the forward pass read, and rounds the
// gradients it hands on to Numerics.Gradients. Each block has two stages: the
// gradient of its input, where workers own sequences, and the gradient of its
// parameters, where workers own output rows of each matrix and every sum runs
// over the tokens in order.

// backState holds the gradients in flight.
type backState struct {
	grad    *model.Params // destination of the parameter gradients
	dlogits []float32     // the caller's, [targets, vocab]
	stream  []float32     // [rows, d] gradient with respect to the residual stream

	headNormed, headIn []float32 // [targets, d]

	normed     []float32 // [rows, d] of the block's norm output
	expertOut  []float32 // [rows*topK, d]
	activated  []float32 // [rows*topK, dff]
	gateUp     []float32 // [rows*topK, 2*dff]
	expertIn   []float32 // [rows*topK, d]
	gates      []float32 // [rows, topK]
	logits     []float32 // [rows, experts]
	projection []float32 // [rows, d] of the attention's output projection
	mixed      []float32 // [rows, d]
	queries    []float32 // [rows, d]
	keys       []float32 // [rows, kvHeads*headDim]
	values     []float32 // [rows, kvHeads*headDim]
	qkv        []float32 // [rows, (heads+2*kvHeads)*headDim]
	aux        []float32 // [rows, experts] the load-balancing loss's part of logits
	auxWeight  float64
	balance    moe.Balance
}

// BeginBackward starts the backward pass of a pass whose layers were saved.
// Parameter gradients are added to grad, which the caller has cleared;
// auxWeight scales the load-balancing loss of each layer (0 leaves it out).
func (p *Pass) BeginBackward(grad *model.Params, auxWeight float64) {
	if !p.options.Save {
		panic("engine: BeginBackward of a pass that did not save its layers")
	}
	p.back.grad, p.back.auxWeight = grad, auxWeight
	p.growBack()
}

// growBack makes room for the gradients of the pass's rows.
func (p *Pass) growBack() {
	c, b, n := &p.config, &p.back, p.rows
	slots := n * max(c.TopK, 1)
	b.stream = grown(b.stream, n*c.DModel)
	b.normed, b.mixed, b.projection = grown(b.normed, n*c.DModel), grown(b.mixed, n*c.DModel), grown(b.projection, n*c.DModel)
	b.headNormed, b.headIn = grown(b.headNormed, p.targets*c.DModel), grown(b.headIn, p.targets*c.DModel)
	b.expertOut, b.expertIn = grown(b.expertOut, slots*c.DModel), grown(b.expertIn, slots*c.DModel)
	b.activated, b.gateUp = grown(b.activated, slots*c.DFF), grown(b.gateUp, slots*2*c.DFF)
	b.gates, b.logits = grown(b.gates, n*c.TopK), grown(b.logits, n*c.Experts)
	b.queries, b.keys, b.values = grown(b.queries, n*c.DModel), grown(b.keys, n*c.KVDim()), grown(b.values, n*c.KVDim())
	b.qkv = grown(b.qkv, n*(c.DModel+2*c.KVDim()))
	b.aux = grown(b.aux, n*c.Experts)
}

// BackwardHead takes d loss/d logits of the target rows, [targets, vocab], and
// leaves the gradient of the residual stream.
func (p *Pass) BackwardHead(dlogits []float32) {
	p.back.dlogits = dlogits
	round(p.num.gradients, dlogits)
	p.run.start(stageHeadGrad, 0)
	p.run.start(stageHeadWeights, 0)
}

// BackwardExperts goes back through the feed-forward block of a layer.
func (p *Pass) BackwardExperts(layer int) {
	p.balanceGrad(layer)
	p.run.start(stageExpertsGrad, layer)
	p.run.start(stageExpertsWeights, layer)
}

// BackwardAttention goes back through the attention block of a layer.
func (p *Pass) BackwardAttention(layer int) {
	p.run.start(stageAttentionGrad, layer)
	p.run.start(stageAttentionWeights, layer)
}

// BackwardEmbed adds the gradient of the embeddings.
func (p *Pass) BackwardEmbed() { p.run.start(stageEmbedGrad, 0) }

// Stream is the gradient with respect to the residual stream at the point the
// backward pass has reached, [rows, d].
func (p *Pass) Stream() []float32 { return p.back.stream[:p.rows*p.config.DModel] }

func (p *Pass) headGrad(k *worker) {
	c, b, h, d := &p.config, &p.back, &p.head, p.config.DModel
	clear(b.stream[k.rowFrom*d : k.rowTo*d])
	from, to := k.targetFrom, k.targetTo
	if from == to {
		return
	}
	normed, in := b.headNormed[from*d:to*d], b.headIn[from*d:to*d]
	kernel.LinearInputGrad(normed, b.dlogits[from*c.Vocab:to*c.Vocab], &p.weights.head, to-from, false, p.num.gradient, &k.scratch)
	kernel.RMSNormInputGrad(in, normed, h.in[from*d:to*d], h.inverse[from:to], p.weights.finalNorm, to-from, d, false)
	for i := from; i < to; i++ {
		row := p.targetRow(i)
		copy(b.stream[row*d:(row+1)*d], b.headIn[i*d:(i+1)*d])
	}
	round(p.num.gradients, b.stream[k.rowFrom*d:k.rowTo*d])
}

// expertsGrad turns the gradient of a layer's output into that of its middle,
// in place in the stream.
func (p *Pass) expertsGrad(k *worker, part, layer int) {
	c, b, s, w := &p.config, &p.back, &p.layers[layer], &p.weights.layers[layer]
	from, to, d := k.rowFrom, k.rowTo, c.DModel
	rows := to - from
	if rows == 0 {
		return
	}
	normed := b.normed[from*d : to*d]
	if c.Dense() {
		copy(b.expertOut[from*d:to*d], b.stream[from*d:to*d])
		p.feedForwardGrad(k, s, w, 0, from, to)
		copy(normed, b.expertIn[from*d:to*d])
	} else {
		p.combineGrad(k, s, part)
		plan, first := &s.dispatch[part], from*c.TopK
		for e := range c.Experts {
			if x, y := plan.Span(e); x < y {
				p.feedForwardGrad(k, s, w, e, first+x, first+y)
			}
		}
		p.gatherGrad(k, plan.Slot)
		p.routeGrad(k, layer, s, w)
	}
	round(p.num.gradients, normed)
	p.normGrad(k, normed, s.middle, s.postInverse, w.postNorm)
}

// combineGrad splits the gradient of the weighted sum of experts into that of
// each expert's output and that of each gate.
func (p *Pass) combineGrad(k *worker, s *layerState, part int) {
	c, b := &p.config, &p.back
	d, top, first := c.DModel, c.TopK, k.rowFrom*c.TopK
	position := s.dispatch[part].Slot
	for r := k.rowFrom; r < k.rowTo; r++ {
		dy := b.stream[r*d : (r+1)*d]
		for rank := range top {
			at := first + int(position[(r-k.rowFrom)*top+rank])
			gate, out, dout := s.gates[r*top+rank], s.expertOut[at*d:][:d], b.expertOut[at*d:][:d]
			var dot float32
			for j, g := range dy {
				dout[j] = gate * g
				dot += float32(out[j] * g)
			}
			b.gates[r*top+rank] = dot
		}
	}
	rows := b.expertOut[first*d : k.rowTo*top*d]
	round(p.num.gradients, rows)
}

// feedForwardGrad goes back through one expert over the rows from..to of the
// expert buffers.
func (p *Pass) feedForwardGrad(k *worker, s *layerState, w *layerWeights, expert, from, to int) {
	c, b := &p.config, &p.back
	d, f, rows := c.DModel, c.DFF, to-from
	act, gateUp := b.activated[from*f:to*f], b.gateUp[from*2*f:to*2*f]
	kernel.LinearInputGrad(act, b.expertOut[from*d:to*d], &w.down[expert], rows, false, p.num.gradient, &k.scratch)
	for r := range rows {
		x := s.gateUp[(from+r)*2*f:][:2*f]
		dx := gateUp[r*2*f : (r+1)*2*f]
		kernel.SiLUGateGrad(dx[:f], dx[f:], act[r*f:(r+1)*f], x[:f], x[f:], f)
	}
	round(p.num.gradients, gateUp)
	kernel.LinearInputGrad(b.expertIn[from*d:to*d], gateUp, &w.gateUp[expert], rows, false, p.num.gradient, &k.scratch)
}

// gatherGrad sums the input gradients of a row's experts, in the order of the ranks.
func (p *Pass) gatherGrad(k *worker, position []int32) {
	b, d, top := &p.back, p.config.DModel, p.config.TopK
	for r := k.rowFrom; r < k.rowTo; r++ {
		sum := b.normed[r*d : (r+1)*d]
		clear(sum)
		for rank := range top {
			at := k.rowFrom*top + int(position[(r-k.rowFrom)*top+rank])
			kernel.Add(sum, sum, b.expertIn[at*d:][:d])
		}
	}
}

// routeGrad adds the router's part to the gradient of the norm's output: the
// policy's through the gates and the load-balancing loss's through all logits.
func (p *Pass) routeGrad(k *worker, layer int, s *layerState, w *layerWeights) {
	c, b := &p.config, &p.back
	from, to := k.rowFrom, k.rowTo
	rows, e, top := to-from, c.Experts, c.TopK
	dlogits := b.logits[from*e : to*e]
	gates := s.gates
	if p.options.Gates != nil {
		gates = s.live // straight-through: recorded values, the softmax of the current logits
	}
	p.gate.Grad(dlogits, b.gates[from*top:to*top], gates[from*top:to*top], s.logits[from*e:to*e], s.routes[from*top:to*top], rows)
	if b.auxWeight != 0 {
		kernel.Add(dlogits, dlogits, b.aux[from*e:to*e])
	}
	round(p.num.gradients, dlogits)
	kernel.LinearInputGrad(b.normed[from*c.DModel:to*c.DModel], dlogits, &w.router, rows, true, p.num.gradient, &k.scratch)
}

// normGrad adds to the stream the gradient that comes back through a norm.
func (p *Pass) normGrad(k *worker, dy, x, inverse, gain []float32) {
	b, d := &p.back, p.config.DModel
	from, to := k.rowFrom, k.rowTo
	stream := b.stream[from*d : to*d]
	kernel.RMSNormInputGrad(stream, dy, x[from*d:to*d], inverse[from:to], gain, to-from, d, true)
	round(p.num.gradients, stream)
}

// attentionGrad turns the gradient of a layer's middle into that of its input,
// in place in the stream.
func (p *Pass) attentionGrad(k *worker, layer int) {
	c, b, s, w := &p.config, &p.back, &p.layers[layer], &p.weights.layers[layer]
	from, to, d := k.rowFrom, k.rowTo, c.DModel
	rows := to - from
	if rows == 0 {
		return
	}
	copy(b.projection[from*d:to*d], b.stream[from*d:to*d])
	kernel.LinearInputGrad(b.mixed[from*d:to*d], b.projection[from*d:to*d], &w.output, rows, false, p.num.gradient, &k.scratch)
	p.attendGrad(k, layer, s)
	width := d + 2*c.KVDim()
	qkv := b.qkv[from*width : to*width]
	round(p.num.gradients, qkv)
	normed := b.normed[from*d : to*d]
	kernel.LinearInputGrad(normed, qkv, &w.qkv, rows, false, p.num.gradient, &k.scratch)
	p.normGrad(k, normed, p.entering(layer), s.inverse, w.inputNorm)
}

// attendGrad goes back through attention and rotation, sequence by sequence,
// recomputing the attention weights from the saved queries and keys, and leaves
// the gradient of the fused projection.
func (p *Pass) attendGrad(k *worker, layer int, s *layerState) {
	c, b := &p.config, &p.back
	d, kv, hd := c.DModel, c.KVDim(), c.HeadDim()
	scale := float32(1 / math.Sqrt(float64(hd)))
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		from, to := p.pack.Offsets[sequence], p.pack.Offsets[sequence+1]
		if from == to {
			continue
		}
		dq, dk, dv := b.queries[from*d:to*d], b.keys[from*kv:to*kv], b.values[from*kv:to*kv]
		kernel.AttendGradKept(dq, dk, dv, b.mixed[from*d:to*d],
			s.queries[from*d:to*d], s.keys[from*kv:to*kv], s.values[from*kv:to*kv], s.lse[from*c.Heads:to*c.Heads],
			to-from, c.Heads, c.KVHeads, hd, scale, p.num.attention, p.keptFor(from, layer), &k.scratch)
		if table := p.weights.rotary; table != nil {
			positions := p.pack.Positions[from:to]
			kernel.RotaryGrad(dq, positions, to-from, c.Heads, hd, table)
			kernel.RotaryGrad(dk, positions, to-from, c.KVHeads, hd, table)
		}
	}
	for r := k.rowFrom; r < k.rowTo; r++ {
		row := b.qkv[r*(d+2*kv) : (r+1)*(d+2*kv)]
		copy(row, b.queries[r*d:(r+1)*d])
		copy(row[d:], b.keys[r*kv:(r+1)*kv])
		copy(row[d+kv:], b.values[r*kv:(r+1)*kv])
	}
}

// balanceGrad computes the gradient of the load-balancing loss of a layer. The
// loss couples all rows of the pack, so this stage has one worker.
func (p *Pass) balanceGrad(layer int) {
	c, b, s := &p.config, &p.back, &p.layers[layer]
	if c.Dense() || b.auxWeight == 0 {
		return
	}
	clear(b.aux)
	b.balance.AddGrad(b.aux, b.auxWeight, s.logits[:p.rows*c.Experts], s.routes[:p.rows*c.TopK], p.rows, c.TopK, c.Experts)
}
