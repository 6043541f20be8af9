package engine

import "driftlab/engine/kernel"

// The second half of each stage of the backward pass: the gradients of its
// parameters. Workers own output rows of each matrix, and every sum runs over
// the tokens of the round's blocks in order, whoever computed their activations.

// share returns the part of n output rows that worker i owns.
func (p *Pass) share(i, n int) (from, to int) {
	return n * i / len(p.workers), n * (i + 1) / len(p.workers)
}

func (p *Pass) headWeightsGrad(part int) {
	c, g, h := &p.config, p.back.grad, &p.head
	d, scratch := c.DModel, &p.workers[part].scratch
	from, to := p.share(part, c.Vocab)
	for i := range p.workers {
		k := &p.workers[i]
		first, n := k.targetFrom, k.targetTo-k.targetFrom
		kernel.LinearWeightGrad(g.Head, p.back.dlogits[first*c.Vocab:], h.normed[first*d:], c.Vocab, d, n, from, to, true, scratch)
		if part == 0 {
			kernel.RMSNormGainGrad(g.FinalNorm, k.back.headNormed, h.in[first*d:], h.inverse[first:], n, d)
		}
	}
}

func (p *Pass) expertsWeightsGrad(part, layer int) {
	c, g := &p.config, p.back.grad.Layer(layer)
	d, f, scratch := c.DModel, c.DFF, &p.workers[part].scratch
	gateUpFrom, gateUpTo := p.share(part, 2*f)
	downFrom, downTo := p.share(part, d)
	for e := range c.FFNs() {
		// One expert's rows lie in as many runs as the round has blocks; in their
		// order they are the tokens in order, so this is one sum.
		for i := range p.workers {
			k := &p.workers[i]
			x, y := p.visits(k, layer, e)
			if x == y {
				continue
			}
			kernel.LinearWeightGrad(g.W13[e], k.back.gateUp[x*2*f:], k.in.expert.dense[x*d:], 2*f, d, y-x, gateUpFrom, gateUpTo, true, scratch)
			kernel.LinearWeightGrad(g.W2[e], k.back.expertOut[x*d:], k.in.activated.dense[x*f:], d, f, y-x, downFrom, downTo, true, scratch)
		}
	}
	from, to := p.share(part, c.Experts)
	for i := range p.workers {
		k := &p.workers[i]
		s, first, end := p.place(k, layer)
		if !c.Dense() {
			kernel.LinearWeightGrad(g.Router, k.back.logits, k.in.normed, c.Experts, d, end-first, from, to, true, scratch)
		}
		if part == 0 {
			kernel.RMSNormGainGrad(g.PostNorm, k.back.normed, p.between(k, layer), s.postInverse[first:], end-first, d)
		}
	}
}

// visits returns the rows of a block's expert buffers that hold an expert's tokens.
func (p *Pass) visits(k *worker, layer, expert int) (from, to int) {
	switch {
	case k.rowFrom == k.rowTo:
		return 0, 0
	case p.config.Dense():
		return 0, p.routedRowCount(k, layer)
	}
	return p.plan(k, layer).Span(expert)
}

func (p *Pass) attentionWeightsGrad(part, layer int) {
	c, g := &p.config, p.back.grad.Layer(layer)
	d, width, scratch := c.DModel, p.fusedWidth(layer), &p.workers[part].scratch
	for i := range p.workers {
		k := &p.workers[i]
		s, first, end := p.place(k, layer)
		from, to := p.share(part, width)
		kernel.LinearWeightGrad(g.QKV, k.back.qkv, k.in.attention.dense, width, d, end-first, from, to, true, scratch)
		from, to = p.share(part, d)
		kernel.LinearWeightGrad(g.O, k.back.projection, s.mixed.dense[first*d:], d, d, end-first, from, to, true, scratch)
		if part == 0 {
			kernel.RMSNormGainGrad(g.InputNorm, k.back.attended, p.entering(k, layer), s.inverse[first:], end-first, d)
		}
	}
	p.mixers[layer].weightsGrad(p, part, layer)
}

// embedGrad adds the gradient of the embeddings over the rows of the round.
func (p *Pass) embedGrad(part int) {
	c, g := &p.config, p.back.grad
	first, end := p.workers[0].rowFrom, p.workers[len(p.workers)-1].rowTo
	stream := p.back.stream[first*c.DModel:]
	from, to := p.share(part, c.Vocab)
	kernel.EmbedGrad(g.Embed, stream, p.pack.Tokens[first:end], c.DModel, from, to)
	if g.PositionEmbed != nil {
		from, to = p.share(part, c.Context)
		kernel.EmbedGrad(g.PositionEmbed, stream, p.pack.Positions[first:end], c.DModel, from, to)
	}
}
