package engine

import "driftlab/engine/kernel"

// prefixState is what the sequences that go on from prefixes read of them in a
// layer, and what that adds to the gradient, in their order.
type prefixState struct {
	kv  []float32 // [rows of prefixes, 2·kvHeads·headDim] keys and values, where no layerState holds them
	dkv []float32 // [rows of prefixes, 2·kvHeads·headDim]
}

// growPrefixes makes room for the keys and values of prefixes.
func (p *Pass) growPrefixes() {
	n := p.pack.prefixRows() * 2 * p.config.KVDim()
	for len(p.prefix) < p.config.Layers {
		p.prefix = append(p.prefix, prefixState{})
	}
	for l := range p.prefix {
		f := &p.prefix[l]
		if !p.kept() {
			f.kv = grown(f.kv, n)
		}
		if p.options.Save {
			f.dkv = grown(f.dkv, n)
			clear(f.dkv)
		}
	}
}

// prefixKV returns the keys and values of a range of the prefixes' rows: each row's keys with
// its values behind them, rows stride elements apart.
func (p *Pass) prefixKV(layer, from, to int) (rows []float32, stride int) {
	if p.kept() {
		stride = p.fusedWidth(layer)
		return p.layers[layer].fused[from*stride+p.config.DModel : to*stride], stride
	}
	stride = 2 * p.config.KVDim()
	return p.prefix[layer].kv[from*stride : to*stride], stride
}

// appendRows appends the first width elements of each row; rows begin stride elements apart.
func appendRows(dst, rows []float32, stride, width int) []float32 {
	for ; len(rows) > 0; rows = rows[min(stride, len(rows)):] {
		dst = append(dst, rows[:width]...)
	}
	return dst
}

// keepPrefix keeps the keys and values of a block of prefixes.
func (p *Pass) keepPrefix(k *worker, layer int, s *layerState, from, to int) {
	if k.seqTo > p.pack.Prefixes || p.kept() {
		return
	}
	stride, width := p.fusedWidth(layer), 2*p.config.KVDim()
	for r := from; r < to; r++ {
		copy(p.prefix[layer].kv[(k.rowFrom+r-from)*width:], s.fused[r*stride+p.config.DModel:][:width])
	}
}

// attended are the keys and values that a sequence's queries attend to, and their gradients:
// a row's keys with its values behind them, rows stride elements apart.
type attended struct {
	kv, dkv []float32
	stride  int
}

// join puts a sequence's own keys and values behind those of its prefix, if it
// has one.
func (p *Pass) join(b *blockGrad, layer, sequence int, own attended) (all attended, before int) {
	from, to := p.pack.before(sequence)
	if from == to {
		return own, 0
	}
	width := 2 * p.config.KVDim()
	rows, stride := p.prefixKV(layer, from, to)
	kv := appendRows(appendRows(b.joined.kv[:0], rows, stride, width), own.kv, own.stride, width)
	all = attended{kv, grown(b.joined.dkv, len(kv)), width}
	b.joined = all
	return all, to - from
}

// part takes the gradients of what join put together apart, and gives a prefix
// the gradients of all that went on from it.
func (p *Pass) part(b *blockGrad, layer, sequence int, own, all attended) {
	from, to := p.pack.before(sequence)
	width := 2 * p.config.KVDim()
	if n := (to - from) * width; n > 0 {
		for i := n; i < len(all.dkv); i += width {
			copy(own.dkv[(i-n)/width*own.stride:], all.dkv[i:i+width])
		}
		b.prefixKV = append(b.prefixKV, all.dkv[:n]...)
	}
	if sequence < p.pack.Prefixes {
		for r := p.pack.Offsets[sequence]; r < p.pack.Offsets[sequence+1]; r++ {
			row := own.dkv[(r-p.pack.Offsets[sequence])*own.stride:][:width]
			kernel.Add(row, row, p.prefix[layer].dkv[r*width:][:width])
		}
	}
}

// prefixGrad adds what the sequences of a round give to the gradients of the keys
// and values of their prefixes, one by one in their order. A worker owns a share
// of each.
func (p *Pass) prefixGrad(part, layer int) {
	f, width := &p.prefix[layer], 2*p.config.KVDim()
	for i := range p.workers {
		k, at := &p.workers[i], 0
		for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
			first, end := p.pack.before(sequence)
			n := (end - first) * width
			if n == 0 {
				continue
			}
			from, to := p.share(part, n)
			dkv := f.dkv[first*width : end*width]
			kernel.Add(dkv[from:to], dkv[from:to], k.back.prefixKV[at+from:at+to])
			at += n
		}
	}
}
