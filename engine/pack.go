package engine

import (
	"fmt"

	"driftlab/engine/kernel"
)

// Pack is token sequences laid end to end, without padding: row r of a pass is
// Tokens[r]. Row r predicts the token at row r+1 of its sequence.
//
// Sequences that begin alike may share their beginning: it is then a prefix, a
// sequence by itself, and what goes on from it attends to its keys and values
// before its own. A row's numbers depend on its beginning alone, so where the
// numerics decode as they score, sharing changes no bit of them.
type Pack struct {
	// Offsets has one entry more than there are sequences; sequence s owns the
	// rows Offsets[s]..Offsets[s+1].
	Offsets []int
	// Tokens are vocabulary ids.
	Tokens []int32
	// Positions are the rows' positions in their sequences; within a sequence
	// they count up by one.
	Positions []int32
	// Prefixes is the number of sequences that others go on from, the first ones of
	// the pack. After has for each sequence the one it goes on from, -1 for none;
	// a prefix goes on from none.
	Prefixes int
	After    []int32
	// Targets lists, in increasing order, the rows whose next-token
	// distribution is wanted; nil means every row.
	Targets []int32
}

// Reset empties the pack and keeps its memory.
func (p *Pack) Reset() {
	p.Offsets = append(p.Offsets[:0], 0)
	p.Tokens, p.Positions, p.Targets = p.Tokens[:0], p.Positions[:0], nil
	p.Prefixes, p.After = 0, p.After[:0]
}

// Add appends a sequence whose first token stands at position first.
func (p *Pack) Add(first int, tokens ...[]int32) {
	if len(p.Offsets) == 0 {
		p.Offsets = append(p.Offsets, 0)
	}
	position := int32(first)
	for _, part := range tokens {
		for _, t := range part {
			p.Tokens = append(p.Tokens, t)
			p.Positions = append(p.Positions, position)
			position++
		}
	}
	p.Offsets, p.After = append(p.Offsets, len(p.Tokens)), append(p.After, -1)
}

// AddPrefix appends a sequence for others to go on from, and returns its number.
// Prefixes come before all other sequences.
func (p *Pack) AddPrefix(tokens ...[]int32) int {
	if p.Prefixes != p.Sequences() {
		panic(fmt.Sprintf("engine: a prefix behind %d sequences, %d of which are prefixes", p.Sequences(), p.Prefixes))
	}
	p.Add(0, tokens...)
	p.Prefixes++
	return p.Prefixes - 1
}

// AddAfter appends a sequence that goes on from a prefix.
func (p *Pack) AddAfter(prefix int, tokens ...[]int32) {
	if prefix >= p.Prefixes {
		panic(fmt.Sprintf("engine: a sequence after prefix %d of %d", prefix, p.Prefixes))
	}
	p.Add(p.Offsets[prefix+1]-p.Offsets[prefix], tokens...)
	p.After[len(p.After)-1] = int32(prefix)
}

// before returns the rows that a sequence goes on from; none by itself.
func (p *Pack) before(sequence int) (from, to int) {
	if p.After[sequence] < 0 {
		return 0, 0
	}
	return p.Offsets[p.After[sequence]], p.Offsets[p.After[sequence]+1]
}

func (p *Pack) prefixRows() int {
	if p.Prefixes == 0 {
		return 0
	}
	return p.Offsets[p.Prefixes]
}

// Rows returns the number of rows.
func (p *Pack) Rows() int { return len(p.Tokens) }

// Sequences returns the number of sequences.
func (p *Pack) Sequences() int { return max(len(p.Offsets)-1, 0) }

// check panics when a token or position lies outside the model: callers
// validate user input before it reaches a pass.
func (p *Pack) check(vocab, context int) {
	for r, t := range p.Tokens {
		if t < 0 || int(t) >= vocab {
			panic(fmt.Sprintf("engine: token %d at row %d, vocabulary has %d", t, r, vocab))
		}
		if q := p.Positions[r]; q < 0 || int(q) >= context {
			panic(fmt.Sprintf("engine: position %d at row %d, context has %d", q, r, context))
		}
	}
}

// prefixState is what the sequences that go on from prefixes read of them in a
// layer, and what that adds to the gradient, in their order.
type prefixState struct {
	kv  []float32 // [rows of prefixes, 2·kvHeads·headDim] keys and values, where no layerState holds them
	dkv []float32 // [rows of prefixes, 2·kvHeads·headDim]
}

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
// its values after them, rows stride elements apart.
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
// a row's keys with its values after them, rows stride elements apart.
type attended struct {
	kv, dkv []float32
	stride  int
}

// join puts a sequence's own keys and values after those of its prefix, if it
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

// part splits the gradients of what join put together, and gives a prefix
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

// prefixGrad adds what the sequences of a block give to the gradients of the keys
// and values of their prefixes, one by one in their order.
func (p *Pass) prefixGrad(k *worker, layer int) {
	f, width, at := &p.prefix[layer], 2*p.config.KVDim(), 0
	for sequence := k.seqFrom; sequence < k.seqTo; sequence++ {
		first, end := p.pack.before(sequence)
		dkv := f.dkv[first*width : end*width]
		kernel.Add(dkv, dkv, k.back.prefixKV[at:at+len(dkv)])
		at += len(dkv)
	}
}
