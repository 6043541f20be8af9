package engine

import (
	"math"

	"driftlab/engine/kernel"
	"driftlab/moe"
)

// embedForward gathers the embeddings of a worker's rows:
// x = round(E[token] + P[position]).
func (p *Pass) embedForward(k *worker) {
	d := p.config.DModel
	tokens := p.pack.Tokens[k.rowFrom:k.rowTo]
	x := p.embed[k.rowFrom*d : k.rowTo*d]
	kernel.Embed(x, p.weights.embed, tokens, d)
	if p.weights.positions == nil {
		return
	}
	for i, position := range p.pack.Positions[k.rowFrom:k.rowTo] {
		row, at := x[i*d:(i+1)*d], p.weights.positions[int(position)*d:]
		kernel.Add(row, row, at[:d])
	}
	round(p.num.activations, x)
}

// attentionForward computes middle = x + O·attention(norm(x)) for a worker's rows.
func (p *Pass) attentionForward(k *worker, layer int) {
	c, s, w := &p.config, p.state(layer), &p.weights.layers[layer]
	from, to, d := k.rowFrom, k.rowTo, c.DModel
	rows := to - from
	if rows == 0 {
		return
	}
	x := p.entering(layer)[from*d : to*d]
	in := s.attentionIn.dense[from*d : to*d]
	kernel.RMSNorm(in, s.inverse[from:to], x, w.inputNorm, rows, d, float32(c.NormEps), p.num.norm)
	p.store(&s.attentionIn, from, to, d)

	values, scales := s.attentionIn.rows(from, to, d, p.num.inputs)
	kernel.Linear(k.qkv, values, scales, &w.qkv, rows, p.num.projection, &k.scratch)
	p.splitHeads(k, s)
	p.attend(k, layer, s)
	p.store(&s.mixed, from, to, d)

	out := k.projected[:rows*d]
	values, scales = s.mixed.rows(from, to, d, p.num.inputs)
	kernel.Linear(out, values, scales, &w.output, rows, p.num.rowParallel, &k.scratch)
	p.addResidual(s.middle[from*d:to*d], x, out)
}

// splitHeads parts the fused projection into queries, keys and values, turns
// queries and keys by their positions, and brings keys and values to the
// cache's format, per token and head.
func (p *Pass) splitHeads(k *worker, s *layerState) {
	c := &p.config
	d, kv, hd := c.DModel, c.KVDim(), c.HeadDim()
	for r := k.rowFrom; r < k.rowTo; r++ {
		row := k.qkv[(r-k.rowFrom)*(d+2*kv):][:d+2*kv]
		copy(s.queries[r*d:(r+1)*d], row)
		copy(s.keys[r*kv:(r+1)*kv], row[d:])
		copy(s.values[r*kv:(r+1)*kv], row[d+kv:])
	}
	rows := k.rowTo - k.rowFrom
	keys, values := s.keys[k.rowFrom*kv:k.rowTo*kv], s.values[k.rowFrom*kv:k.rowTo*kv]
	if table := p.weights.rotary; table != nil {
		positions := p.pack.Positions[k.rowFrom:k.rowTo]
		kernel.Rotary(s.queries[k.rowFrom*d:k.rowTo*d], positions, rows, c.Heads, hd, table, p.num.activations)
		kernel.Rotary(keys, positions, rows, c.KVHeads, hd, table, p.num.activations)
	}
	if !p.num.plainCache {
		p.num.kvCache.RoundTrip(keys, keys, rows*c.KVHeads, hd)
		p.num.kvCache.RoundTrip(values, values, rows*c.KVHeads, hd)
	}
}

// attend stores the keys and values of a worker's rows and mixes, sequence by
// sequence. A row sees the positions up to its own, whether they were computed
// in this pass or an earlier one, so prefill and decode run the same code on
// the same numbers.
func (p *Pass) attend(k *worker, layer int, s *layerState) {
	c := &p.config
	d, kv, hd := c.DModel, c.KVDim(), c.HeadDim()
	scale := float32(1 / math.Sqrt(float64(hd)))
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		from, to := p.pack.Offsets[sequence], p.pack.Offsets[sequence+1]
		if from == to {
			continue
		}
		keys, values, capacity := p.cacheOf(k, layer, sequence)
		first := int(p.pack.Positions[from])
		kernel.StoreKV(keys, values, s.keys[from*kv:to*kv], s.values[from*kv:to*kv], to-from, first, c.KVHeads, hd, capacity)
		if p.options.Retention != nil {
			p.attendKept(k, layer, from, to, s, keys, values, capacity, scale)
		} else {
			kernel.AttendRows(s.mixed.dense[from*d:to*d], s.lse[from*c.Heads:to*c.Heads], s.queries[from*d:to*d],
				keys, values, to-from, c.Heads, c.KVHeads, hd, capacity, first+1, scale, p.num.attention, &k.scratch)
		}
		if p.options.Mass != nil {
			p.addMass(sequence, layer, s, keys, capacity, scale)
		}
	}
}

// cacheOf returns where a sequence's keys and values live, and the number of
// positions per head there.
func (p *Pass) cacheOf(k *worker, layer, sequence int) (keys, values []float32, capacity int) {
	if cache := p.options.Cache; cache != nil {
		keys, values = cache.at(layer, p.options.Slots[sequence])
		return keys, values, cache.capacity
	}
	capacity = roundUp16(p.pack.Offsets[sequence+1] - p.pack.Offsets[sequence])
	n := p.config.KVDim() * capacity
	return k.keys[:n], k.values[:n], capacity
}

// expertsForward computes out = middle + experts(norm(middle)) for a worker's rows.
func (p *Pass) expertsForward(k *worker, part, layer int) {
	c, s, w := &p.config, p.state(layer), &p.weights.layers[layer]
	from, to, d := k.rowFrom, k.rowTo, c.DModel
	rows := to - from
	if rows == 0 {
		return
	}
	x, normed := s.middle[from*d:to*d], s.normed[from*d:to*d]
	kernel.RMSNorm(normed, s.postInverse[from:to], x, w.postNorm, rows, d, float32(c.NormEps), p.num.norm)
	if c.Dense() {
		copy(s.expertIn.dense[from*d:to*d], normed)
		p.feedForward(k, s, w, 0, from, to)
		p.addResidual(s.out[from*d:to*d], x, s.expertOut[from*d:to*d])
		return
	}
	p.route(k, layer, s, w)
	plan := &s.dispatch[part]
	plan.Plan(s.routes[from*c.TopK:to*c.TopK], rows, c.TopK, c.Experts)
	first := from * c.TopK
	plan.Gather(s.expertIn.dense[first*d:], normed, d)
	for e := range c.Experts {
		a, b := plan.Span(e)
		if a < b {
			p.feedForward(k, s, w, e, first+a, first+b)
		}
	}
	p.combine(k, s, part)
}

// route chooses the experts of a worker's rows, or takes the replayed ones,
// and computes their gates from the current logits, or takes the recorded ones.
func (p *Pass) route(k *worker, layer int, s *layerState, w *layerWeights) {
	c := &p.config
	from, to, d, top := k.rowFrom, k.rowTo, c.DModel, c.TopK
	rows := to - from
	logits := s.logits[from*c.Experts : to*c.Experts]
	kernel.Linear(logits, s.normed[from*d:to*d], nil, &w.router, rows, p.num.router, &k.scratch)
	routes, gates := s.routes[from*top:to*top], s.gates[from*top:to*top]
	if replay := p.options.Replay; replay == nil {
		p.gate.Select(routes, gates, logits, w.routerBias, rows)
	} else {
		for r := range rows {
			copy(routes[r*top:(r+1)*top], replay[((from+r)*c.Layers+layer)*top:])
		}
		p.gate.Fill(routes, gates, logits, w.routerBias, rows)
	}
	round(p.num.activations, gates)
	if p.options.Gates != nil {
		p.recallGates(k, layer, s)
	}
	for r := range rows {
		at := ((from+r)*c.Layers + layer) * top
		copy(p.routes[at:], routes[r*top:(r+1)*top])
		if p.options.KeepGates {
			copy(p.gates[at:], gates[r*top:(r+1)*top])
		}
	}
}

// recallGates puts the recorded gates of a worker's rows in the place of those
// that the current logits give, which the backward pass still needs. Rows whose
// experts were not recorded keep their own.
func (p *Pass) recallGates(k *worker, layer int, s *layerState) {
	c := &p.config
	top := c.TopK
	copy(s.live[k.rowFrom*top:k.rowTo*top], s.gates[k.rowFrom*top:k.rowTo*top])
	for r := k.rowFrom; r < k.rowTo; r++ {
		at := (r*c.Layers + layer) * top
		if p.options.Replay[at] != moe.NoRoute {
			copy(s.gates[r*top:(r+1)*top], p.options.Gates[at:at+top])
		}
	}
	round(p.num.activations, s.gates[k.rowFrom*top:k.rowTo*top])
}

// feedForward runs one expert, W2·(silu(W1·x)·(W3·x)), over the rows from..to
// of the expert buffers.
func (p *Pass) feedForward(k *worker, s *layerState, w *layerWeights, expert, from, to int) {
	c := &p.config
	d, f, rows := c.DModel, c.DFF, to-from
	p.store(&s.expertIn, from, to, d)
	values, scales := s.expertIn.rows(from, to, d, p.num.inputs)
	gateUp := s.gateUp[from*2*f : to*2*f]
	kernel.Linear(gateUp, values, scales, &w.gateUp[expert], rows, p.num.projection, &k.scratch)
	for r := range rows {
		row := gateUp[r*2*f : (r+1)*2*f]
		kernel.SiLUGate(s.activated.dense[(from+r)*f:(from+r+1)*f], row[:f], row[f:], f, p.num.activations)
	}
	p.store(&s.activated, from, to, f)
	values, scales = s.activated.rows(from, to, f, p.num.inputs)
	kernel.Linear(s.expertOut[from*d:to*d], values, scales, &w.down[expert], rows, p.num.rowParallel, &k.scratch)
}

// combine sums the experts' outputs of each row, weighted by their gates, in
// the declared order, that of the ranks in fp32 unless the numerics say
// otherwise, and adds the residual stream.
func (p *Pass) combine(k *worker, s *layerState, part int) {
	c := &p.config
	d, top, first := c.DModel, c.TopK, k.rowFrom*c.TopK
	position := s.dispatch[part].Slot
	for r := k.rowFrom; r < k.rowTo; r++ {
		sum := k.projected[(r-k.rowFrom)*d:][:d]
		if p.num.experts.Order != ByRank {
			k.combiner.slots, k.combiner.out = position[(r-k.rowFrom)*top:][:top], s.expertOut[first*d:]
			k.combiner.sum(sum, p.num.experts, c.Experts, s.routes[r*top:(r+1)*top], s.gates[r*top:(r+1)*top])
			continue
		}
		clear(sum)
		for rank := range top {
			at := first + int(position[(r-k.rowFrom)*top+rank])
			kernel.AddScaled(sum, s.expertOut[at*d:][:d], s.gates[r*top+rank])
		}
	}
	rows := k.projected[:(k.rowTo-k.rowFrom)*d]
	round(p.num.activations, rows)
	p.addResidual(s.out[k.rowFrom*d:k.rowTo*d], s.middle[k.rowFrom*d:k.rowTo*d], rows)
}

// addResidual writes round(x + y).
func (p *Pass) addResidual(dst, x, y []float32) {
	kernel.Add(dst, x, y)
	round(p.num.activations, dst)
}

// headForward computes the logits of a worker's target rows.
func (p *Pass) headForward(k *worker) {
	c, h := &p.config, &p.head
	from, to, d := k.targetFrom, k.targetTo, c.DModel
	if from == to {
		return
	}
	stream := p.entering(c.Layers)
	for i := from; i < to; i++ {
		row := p.targetRow(i)
		copy(h.in[i*d:(i+1)*d], stream[row*d:(row+1)*d])
	}
	kernel.RMSNorm(h.normed[from*d:to*d], h.inverse[from:to], h.in[from*d:to*d], p.weights.finalNorm,
		to-from, d, float32(c.NormEps), p.num.norm)
	// A head coarser than the activations reads coarser inputs too.
	in := h.normed[from*d : to*d]
	if p.weights.Numerics.Head.MantissaBits < p.num.activations.MantissaBits {
		p.weights.Numerics.Head.RoundSlice(in, in)
	}
	kernel.Linear(h.logits[from*c.Vocab:to*c.Vocab], in, nil, &p.weights.head, to-from, p.num.head, &k.scratch)
}

// targetRow returns the pack row of target i.
func (p *Pass) targetRow(i int) int {
	if p.pack.Targets == nil {
		return i
	}
	return int(p.pack.Targets[i])
}
