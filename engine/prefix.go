package engine

import "driftlab/engine/kernel"

// prefixState is what the sequences that go on from prefixes read of them in a
// layer, and what that adds to the gradient, in their order.
type prefixState struct {
	keys, values   []float32 // [rows of prefixes, kvHeads*headDim], where no layerState holds them
	dkeys, dvalues []float32 // [rows of prefixes, kvHeads*headDim]
}

// growPrefixes makes room for the keys and values of prefixes.
func (p *Pass) growPrefixes() {
	n := p.pack.prefixRows() * p.config.KVDim()
	for len(p.prefix) < p.config.Layers {
		p.prefix = append(p.prefix, prefixState{})
	}
	for l := range p.prefix {
		f := &p.prefix[l]
		if !p.kept() {
			f.keys, f.values = grown(f.keys, n), grown(f.values, n)
		}
		if p.options.Save {
			f.dkeys, f.dvalues = grown(f.dkeys, n), grown(f.dvalues, n)
			clear(f.dkeys)
			clear(f.dvalues)
		}
	}
}

// prefixKV returns the keys and values of a range of the prefixes' rows.
func (p *Pass) prefixKV(layer, from, to int) (keys, values []float32) {
	kv := p.config.KVDim()
	keys, values = p.prefix[layer].keys, p.prefix[layer].values
	if p.kept() {
		keys, values = p.layers[layer].keys, p.layers[layer].values
	}
	return keys[from*kv : to*kv], values[from*kv : to*kv]
}

// keepPrefix keeps the keys and values of a block of prefixes.
func (p *Pass) keepPrefix(k *worker, layer int, keys, values []float32) {
	if k.seqTo <= p.pack.Prefixes && !p.kept() {
		at := k.rowFrom * p.config.KVDim()
		copy(p.prefix[layer].keys[at:], keys)
		copy(p.prefix[layer].values[at:], values)
	}
}

// attended are the keys and values that a sequence's queries attend to, a row
// behind the other, and their gradients.
type attended struct{ keys, values, dkeys, dvalues []float32 }

// join puts a sequence's own keys and values behind those of its prefix, if it
// has one.
func (p *Pass) join(b *blockGrad, layer, sequence int, own attended) (all attended, before int) {
	from, to := p.pack.before(sequence)
	if from == to {
		return own, 0
	}
	keys, values := p.prefixKV(layer, from, to)
	all = attended{b.joined.keys[:0], b.joined.values[:0], b.joined.dkeys, b.joined.dvalues}
	all.keys = append(append(all.keys, keys...), own.keys...)
	all.values = append(append(all.values, values...), own.values...)
	all.dkeys, all.dvalues = grown(all.dkeys, len(all.keys)), grown(all.dvalues, len(all.keys))
	b.joined = all
	return all, to - from
}

// part takes the gradients of what join put together apart, and gives a prefix
// the gradients of all that went on from it.
func (p *Pass) part(b *blockGrad, layer, sequence int, own, all attended) {
	from, to := p.pack.before(sequence)
	kv := p.config.KVDim()
	if n := (to - from) * kv; n > 0 {
		copy(own.dkeys, all.dkeys[n:])
		copy(own.dvalues, all.dvalues[n:])
		b.prefixKeys, b.prefixValues = append(b.prefixKeys, all.dkeys[:n]...), append(b.prefixValues, all.dvalues[:n]...)
	}
	if sequence < p.pack.Prefixes {
		at, f := p.pack.Offsets[sequence]*kv, &p.prefix[layer]
		kernel.Add(own.dkeys, own.dkeys, f.dkeys[at:][:len(own.dkeys)])
		kernel.Add(own.dvalues, own.dvalues, f.dvalues[at:][:len(own.dvalues)])
	}
}

// prefixGrad adds what the sequences of a round give to the gradients of the keys
// and values of their prefixes, one by one in their order. A worker owns a share
// of each.
func (p *Pass) prefixGrad(part, layer int) {
	f, kv := &p.prefix[layer], p.config.KVDim()
	for i := range p.workers {
		k, at := &p.workers[i], 0
		for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
			first, end := p.pack.before(sequence)
			n := (end - first) * kv
			if n == 0 {
				continue
			}
			from, to := p.share(part, n)
			dkeys, dvalues := f.dkeys[first*kv:end*kv], f.dvalues[first*kv:end*kv]
			kernel.Add(dkeys[from:to], dkeys[from:to], k.back.prefixKeys[at+from:at+to])
			kernel.Add(dvalues[from:to], dvalues[from:to], k.back.prefixValues[at+from:at+to])
			at += n
		}
	}
}
