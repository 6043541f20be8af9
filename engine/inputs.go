package engine

import "driftlab/engine/kernel"

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
	in.attention.grow(rows, c.DModel, q)
	in.normed = grown(in.normed, rows*c.DModel)
	in.expert.grow(slots, c.DModel, q)
	in.activated.grow(slots, c.DFF, q)
}

// attentionInputAgain computes the input of a kept attention block.
func (p *Pass) attentionInputAgain(k *worker, layer int, s *layerState, from, to int) {
	d, rows, in := p.config.DModel, to-from, &k.in.attention
	kernel.RMSNormAgain(in.dense[:rows*d], s.inverse[from:to], p.entering(k, layer), p.weights.layers[layer].inputNorm, rows, d, p.num.norm)
	p.store(in, 0, rows, d)
}

// expertInputsAgain computes the inputs of a kept block of experts, except the activations.
func (p *Pass) expertInputsAgain(k *worker, layer int, s *layerState, from, to int) {
	d, rows := p.config.DModel, to-from
	kernel.RMSNormAgain(k.in.normed[:rows*d], s.postInverse[from:to], p.between(k, layer), p.weights.layers[layer].postNorm, rows, d, p.num.norm)
	p.gatherInputs(k, layer)
}

// gatherInputs copies the rows of the norm's output to the experts they are routed to.
func (p *Pass) gatherInputs(k *worker, layer int) {
	d, in := p.config.DModel, &k.in
	if !p.config.Dense() {
		p.plan(k, layer).Gather(in.expert.dense, in.normed, d)
		return
	}
	rows, all := p.routedRows(k, layer)
	for i := range rows {
		copy(in.expert.dense[i*d:][:d], in.normed[p.routedRow(k, i, all)*d:])
	}
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
