package engine

import (
	"driftlab/engine/kernel"
	"driftlab/moe"
)

// embedForward gathers the embeddings of a worker's rows:
// x = round(E[token] + P[position]).
func (p *Pass) embedForward(k *worker, _ int) {
	d := p.config.DModel
	tokens := p.pack.Tokens[k.rowFrom:k.rowTo]
	x := p.entering(k, 0)
	kernel.Embed(x, p.weights.embed, tokens, d)
	if p.weights.positions != nil {
		for i, position := range p.pack.Positions[k.rowFrom:k.rowTo] {
			row, at := x[i*d:(i+1)*d], p.weights.positions[int(position)*d:]
			kernel.Add(row, row, at[:d])
		}
		round(p.num.activations, x)
	}
	p.perturb(k, 0)
}

// attentionForward computes middle = x + O·attention(norm(x)) for a block.
func (p *Pass) attentionForward(k *worker, layer int) {
	d := p.config.DModel
	s, from, to := p.place(k, layer)
	p.attentionInside(k, layer, s, from, to)
	out := k.projected[:(to-from)*d]
	p.project(k, out, &p.weights.layers[layer].output, &s.mixed, from, to, p.num.rowParallel)
	p.addResidual(p.leaves(k, layer).middle, p.entering(k, layer), out)
}

// attentionInside computes what the output projection quantises and reads.
func (p *Pass) attentionInside(k *worker, layer int, s *layerState, from, to int) {
	c, w := &p.config, &p.weights.layers[layer]
	d, rows := c.DModel, to-from
	in, width := &k.in.attention, w.qkv.Out
	kernel.RMSNorm(in.dense[:rows*d], s.inverse[from:to], p.entering(k, layer), w.inputNorm, rows, d, float32(c.NormEps), p.num.norm)
	p.project(k, s.fused[from*width:to*width], &w.qkv, in, 0, rows, p.num.projection)
	p.mixers[layer].mix(p, k, layer, s, from, to)
}

// placeHeads turns queries and keys by their positions, and brings keys and values to the
// cache's format, per token and head, where the fused projection left them.
func (p *Pass) placeHeads(k *worker, layer int, s *layerState, from, to int) {
	c := &p.config
	d, kv, hd := c.DModel, c.KVDim(), c.HeadDim()
	width := p.fusedWidth(layer)
	fused := s.fused[from*width : to*width]
	p.rotate(fused, width, p.pack.Positions[k.rowFrom:k.rowTo], c.Heads+c.KVHeads)
	scales, requantise := p.weights.kvScales, p.num.queries != p.num.activations
	if requantise || scales != nil || !p.num.plainCache {
		for ; len(fused) > 0; fused = fused[width:] {
			keys, values := fused[d:d+kv], fused[d+kv:width]
			if requantise {
				round(p.num.queries, fused[:d])
			}
			if scales != nil {
				storeScaled(keys, scales[2*layer*c.KVHeads:][:c.KVHeads], hd, p.weights.cacheGrid)
				storeScaled(values, scales[(2*layer+1)*c.KVHeads:][:c.KVHeads], hd, p.weights.cacheGrid)
			} else if !p.num.plainCache {
				p.num.kvCache.RoundTrip(fused[d:width], fused[d:width], 2*c.KVHeads, hd)
			}
		}
	}
	p.keepPrefix(k, layer, s, from, to)
}

// rotate turns that many heads of rows, width elements apart, by the rows' positions, where the model has rotary ones.
func (p *Pass) rotate(x []float32, width int, positions []int32, heads int) {
	table, rotary := p.weights.rotary, kernel.Rotary
	if table == nil {
		return
	}
	if p.num.eager {
		rotary = kernel.RotaryEager
	}
	rotary(x, width, positions, len(positions), heads, p.config.HeadDim(), table, p.num.activations)
}

// attend stores the keys and values of a block, whose rows begin at the given
// one of s, and mixes, sequence by sequence. A row sees the positions up to its
// own, whether they were computed with its sequence, as a prefix or in an earlier
// pass, so prefill and decode run the same code on the same numbers.
func (p *Pass) attend(k *worker, layer int, s *layerState, at int) {
	c, shift := &p.config, at-k.rowFrom
	d, kv, width := c.DModel, c.KVDim(), p.fusedWidth(layer)
	k.prefix = -1
	for q := range p.sequences(k) {
		cache, first := p.cacheOf(k, layer, q.number), int(p.pack.Positions[k.rowFrom+q.from])
		from, to := at+q.from, at+q.to
		fused := s.fused[from*width : to*width]
		kernel.StoreKV(cache, fused[d:], fused[d+kv:], width, to-from, first, kv)
		if p.options.Retention != nil {
			p.attendKept(k, layer, from, to, shift, s, cache)
		} else {
			var next kernel.KV
			if p.options.Cache != nil && q.number+1 < k.seqTo {
				next = p.options.Cache.at(layer, p.options.Slots[q.number+1])
			}
			p.attention.Attend(s.mixed.dense[from*d:to*d], p.lse(s, from, to), fused, width, cache, to-from, first+1, next, &k.scratch)
		}
		if p.options.Mass != nil {
			p.addMass(q.number, layer, shift, s, cache.Keys)
		}
	}
}

// lse is where the rows from..to leave the log-sum-exp of their scores: nowhere if nothing reads it.
func (p *Pass) lse(s *layerState, from, to int) []float32 {
	if !p.options.Save && p.options.Mass == nil {
		return nil
	}
	return s.lse[from*p.config.Heads : to*p.config.Heads]
}

// cacheOf returns where a sequence's keys and values live, with those of its prefix.
func (p *Pass) cacheOf(k *worker, layer, sequence int) kernel.KV {
	if cache := p.options.Cache; cache != nil {
		return cache.at(layer, p.options.Slots[sequence])
	}
	prefix := p.pack.After[sequence]
	if prefix != k.prefix { // else they stand there already
		if from, to := p.pack.before(sequence); from < to {
			rows, stride := p.prefixKV(layer, from, to)
			width := p.config.KVDim()
			kernel.StoreKV(k.kv, rows, rows[width:], stride, to-from, 0, width)
		}
		k.prefix = prefix
	}
	return k.kv
}

// expertsForward computes out = middle + experts(norm(middle)) for a block.
func (p *Pass) expertsForward(k *worker, layer int) {
	d := p.config.DModel
	s, from, to := p.place(k, layer)
	p.expertsInside(k, layer, s, from, to)
	f := p.leaves(k, layer)
	x, out := f.middle, f.out
	p.combine(k, layer, s, from)
	rows, all := p.routedRows(k, layer)
	if all {
		p.addResidual(out, x, k.projected[:rows*d])
		p.perturb(k, layer+1)
		return
	}
	copy(out, x)
	for i, r := range k.wanted[:rows] {
		row := out[int(r)*d:][:d]
		p.addResidual(row, row, k.projected[i*d:][:d])
	}
}

// routedRows returns how many rows of its block are routed to the experts of a layer, and
// whether all are; if not, wanted lists them: in the last layer only targets, for nothing would
// read what became of the others.
func (p *Pass) routedRows(k *worker, layer int) (rows int, all bool) {
	rows, targets := k.rowTo-k.rowFrom, k.targetTo-k.targetFrom
	if layer < p.config.Layers-1 || targets == rows {
		return rows, true
	}
	for i, r := range p.pack.Targets[k.targetFrom:k.targetTo] {
		k.wanted[i] = r - int32(k.rowFrom)
	}
	return targets, false
}

// expertsInside computes what the sum over a row's experts reads.
func (p *Pass) expertsInside(k *worker, layer int, s *layerState, from, to int) {
	c, w := &p.config, &p.weights.layers[layer]
	d, normed := c.DModel, k.in.normed[:(to-from)*c.DModel]
	kernel.RMSNorm(normed, s.postInverse[from:to], p.leaves(k, layer).middle, w.postNorm, to-from, d, float32(c.NormEps), p.num.norm)
	if !c.Dense() {
		p.route(k, layer, s, from, to)
	}
	plan := p.plan(k, layer)
	p.planRoutes(k, layer, plan)
	plan.Gather(k.in.expert.dense, normed, d)
	for e := range c.FFNs() {
		if a, b := plan.Span(e); a < b {
			p.feedForward(k, s, w, e, from*max(c.TopK, 1), a, b)
		}
	}
}

// planRoutes sorts the routed rows of a block by their experts. In a dense model all go to the one network.
func (p *Pass) planRoutes(k *worker, layer int, plan *moe.Dispatch) {
	c, top := &p.config, max(p.config.TopK, 1)
	rows, all := p.routedRows(k, layer)
	if !c.Dense() {
		routes := p.leaves(k, layer).routes
		for i := range rows {
			copy(k.ids[i*top:(i+1)*top], routes[p.routedRow(k, i, all)*top:])
		}
	}
	plan.Plan(k.ids[:rows*top], rows, top, c.FFNs())
	for i, row := range plan.Row {
		plan.Row[i] = int32(p.routedRow(k, int(row), all))
	}
}

// route chooses the experts of a block, or takes the replayed ones, and
// computes their gates from the current logits, or takes the recorded ones.
func (p *Pass) route(k *worker, layer int, s *layerState, from, to int) {
	c := &p.config
	rows, d, top := to-from, c.DModel, c.TopK
	f := p.leaves(k, layer)
	logits, routes := f.logits, f.routes
	kernel.Linear(logits, k.in.normed[:rows*d], nil, &p.weights.layers[layer].router, rows, p.num.router, &k.scratch)
	gates := s.gates[from*top : to*top]
	if replay := p.options.Replay; replay == nil {
		p.chooseExperts(k, layer, routes, gates, logits)
	} else {
		for r := range rows {
			copy(routes[r*top:(r+1)*top], replay[((k.rowFrom+r)*c.Layers+layer)*top:])
		}
		p.gate.Fill(routes, gates, logits, p.weights.layers[layer].routerBias, rows)
	}
	round(p.num.activations, gates)
	if p.options.Gates != nil {
		p.recallGates(k, layer, gates, s.live[from*top:to*top])
	}
	for r := range rows {
		at := ((k.rowFrom+r)*c.Layers + layer) * top
		copy(p.routes[at:], routes[r*top:(r+1)*top])
		if p.options.KeepGates {
			copy(p.gates[at:], gates[r*top:(r+1)*top])
		}
		if p.options.KeepRouter {
			copy(p.router[at/top*c.Experts:], logits[r*c.Experts:(r+1)*c.Experts])
		}
	}
}

// recallGates puts the recorded gates of a block in the place of those that the
// current logits give, which the backward pass still needs. Rows whose experts
// were not recorded keep their own.
func (p *Pass) recallGates(k *worker, layer int, gates, live []float32) {
	c := &p.config
	top := c.TopK
	copy(live, gates)
	for r := range k.rowTo - k.rowFrom {
		at := ((k.rowFrom+r)*c.Layers + layer) * top
		if p.options.Replay[at] != moe.NoRoute {
			copy(gates[r*top:(r+1)*top], p.options.Gates[at:at+top])
		}
	}
	round(p.num.activations, gates)
}

// feedForward runs one expert, W2·(silu(W1·x)·(W3·x)), over the rows from..to of the
// block's expert buffers, which begin at the given row of s.
func (p *Pass) feedForward(k *worker, s *layerState, w *layerWeights, expert, first, from, to int) {
	c, in := &p.config, &k.in
	d, f, rows := c.DModel, c.DFF, to-from
	gateUp, out := s.gateUp[(first+from)*2*f:][:rows*2*f], s.expertOut[(first+from)*d:][:rows*d]
	p.project(k, gateUp, &w.gateUp[expert], &in.expert, from, to, p.num.projection)
	p.activate(k, gateUp, from, to)
	p.project(k, out, &w.down[expert], &in.activated, from, to, p.num.rowParallel)
}

// combine sums the experts' outputs of each routed row, weighted by their gates, in
// the declared order, that of the ranks in fp32 unless the numerics say
// otherwise, and leaves them in projected.
func (p *Pass) combine(k *worker, layer int, s *layerState, from int) {
	c := &p.config
	d, top, first := c.DModel, c.TopK, from*max(c.TopK, 1)
	rows, all := p.routedRows(k, layer)
	sums := k.projected[:rows*d]
	if c.Dense() {
		copy(sums, s.expertOut[first*d:])
		return
	}
	position, routes, add := p.plan(k, layer).Slot, p.leaves(k, layer).routes, &k.combiner
	add.eager, add.format, add.out = p.num.eager, p.num.activations, s.expertOut[first*d:]
	for i := range rows {
		r := p.routedRow(k, i, all)
		add.slots = position[i*top:][:top]
		add.sum(sums[i*d:][:d], &p.num.experts, c.Experts, routes[r*top:(r+1)*top], s.gates[(from+r)*top:][:top])
	}
	round(p.num.activations, sums)
}

// routedRow is the row of a block that stands at place i among its routed rows.
func (p *Pass) routedRow(k *worker, i int, all bool) int {
	if all {
		return i
	}
	return int(k.wanted[i])
}

// addResidual writes round(x + y).
func (p *Pass) addResidual(dst, x, y []float32) {
	kernel.Add(dst, x, y)
	round(p.num.activations, dst)
}

// headForward computes the logits of a block's target rows.
func (p *Pass) headForward(k *worker, _ int) {
	c, h := &p.config, &p.head
	from, to, d := k.targetFrom, k.targetTo, c.DModel
	if from == to {
		return
	}
	stream := p.leaves(k, c.Layers-1).out
	for i := from; i < to; i++ {
		row := p.targetRow(i) - k.rowFrom
		copy(h.in[i*d:(i+1)*d], stream[row*d:(row+1)*d])
	}
	kernel.RMSNorm(h.normed.dense[from*d:to*d], h.inverse[from:to], h.in[from*d:to*d], p.weights.finalNorm, to-from, d, float32(c.NormEps), p.num.norm)
	h.normed.store(from, to, d)
	values, scales := h.normed.rows(from, to, d)
	kernel.Linear(h.logits[from*c.Vocab:to*c.Vocab], values, scales, &p.weights.head, to-from, p.num.head, &k.scratch)
}

func (p *Pass) targetRow(i int) int {
	if p.pack.Targets == nil {
		return i
	}
	return int(p.pack.Targets[i])
}
