package engine

import "driftlab/engine/kernel"

// The second stage of each block's backward pass: the gradients of its
// parameters. Workers own output rows of each matrix, and every sum runs over
// the tokens of the pack in order, whoever computed their activations.

// part returns the share of n output rows that worker i owns.
func (p *Pass) part(i, n int) (from, to int) {
	return n * i / len(p.workers), n * (i + 1) / len(p.workers)
}

func (p *Pass) headWeightsGrad(k *worker, part int) {
	c, b, h := &p.config, &p.back, &p.head
	from, to := p.part(part, c.Vocab)
	kernel.LinearWeightGrad(b.grad.Head, b.dlogits, h.normed, c.Vocab, c.DModel, p.targets, from, to, true, &k.scratch)
	if part == 0 {
		kernel.RMSNormGainGrad(b.grad.FinalNorm, b.headNormed, h.in, h.inverse, p.targets, c.DModel)
	}
}

func (p *Pass) expertsWeightsGrad(k *worker, part, layer int) {
	c, b, s, g := &p.config, &p.back, &p.layers[layer], p.back.grad.Layer(layer)
	d, f := c.DModel, c.DFF
	gateUpFrom, gateUpTo := p.part(part, 2*f)
	downFrom, downTo := p.part(part, d)
	for e := range c.FFNs() {
		// One expert's rows lie in as many runs as there are workers; in their
		// order they are the tokens in order, so this is one sum.
		for i := range p.workers {
			from, to := p.expertRows(s, i, e)
			if from == to {
				continue
			}
			kernel.LinearWeightGrad(g.W13[e], b.gateUp[from*2*f:to*2*f], s.expertIn.dense[from*d:to*d], 2*f, d, to-from, gateUpFrom, gateUpTo, true, &k.scratch)
			kernel.LinearWeightGrad(g.W2[e], b.expertOut[from*d:to*d], s.activated.dense[from*f:to*f], d, f, to-from, downFrom, downTo, true, &k.scratch)
		}
	}
	if !c.Dense() {
		from, to := p.part(part, c.Experts)
		kernel.LinearWeightGrad(g.Router, b.logits, s.normed, c.Experts, d, p.rows, from, to, true, &k.scratch)
	}
	if part == 0 {
		kernel.RMSNormGainGrad(g.PostNorm, b.normed, s.middle, s.postInverse, p.rows, d)
	}
}

// expertRows returns the rows of the expert buffers where worker i put the
// tokens of an expert.
func (p *Pass) expertRows(s *layerState, i, expert int) (from, to int) {
	k := &p.workers[i]
	if p.config.Dense() {
		return k.rowFrom, k.rowTo
	}
	if k.rowFrom == k.rowTo {
		return 0, 0
	}
	from, to = s.dispatch[i].Span(expert)
	return k.rowFrom*p.config.TopK + from, k.rowFrom*p.config.TopK + to
}

func (p *Pass) attentionWeightsGrad(k *worker, part, layer int) {
	c, b, s, g := &p.config, &p.back, &p.layers[layer], p.back.grad.Layer(layer)
	d, width := c.DModel, c.DModel+2*c.KVDim()
	from, to := p.part(part, width)
	kernel.LinearWeightGrad(g.QKV, b.qkv, s.attentionIn.dense, width, d, p.rows, from, to, true, &k.scratch)
	from, to = p.part(part, d)
	kernel.LinearWeightGrad(g.O, b.projection, s.mixed.dense, d, d, p.rows, from, to, true, &k.scratch)
	if part == 0 {
		kernel.RMSNormGainGrad(g.InputNorm, b.normed, p.entering(layer), s.inverse, p.rows, d)
	}
}

func (p *Pass) embedGrad(part int) {
	d, g := p.config.DModel, p.back.grad
	from, to := p.part(part, p.config.Vocab)
	kernel.EmbedGrad(g.Embed, p.back.stream, p.pack.Tokens, d, from, to)
	if g.PositionEmbed != nil {
		from, to = p.part(part, p.config.Context)
		kernel.EmbedGrad(g.PositionEmbed, p.back.stream, p.pack.Positions, d, from, to)
	}
}
