package engine

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/precision"
)

// mixer is the part of an attention block that a layer's type decides: how the rows of a
// sequence see each other, between the fused input projection and the output projection.
// The norm, the projections and the residual stream are the same for all.
type mixer interface {
	// grow makes room in the inside of a layer, and growBack for gradients of a block.
	grow(p *Pass, s *layerState, rows int)
	growBack(p *Pass, b *blockGrad, rows int)
	// mix turns the fused projection of a block, in s.fused, into s.mixed, rows from..to-1.
	mix(p *Pass, k *worker, layer int, s *layerState, from, to int)
	// mixGrad leaves the gradient of the fused projection in k.back.qkv, from that of the
	// mixed rows in k.back.mixed.
	mixGrad(p *Pass, k *worker, layer int, s *layerState, from, to int)
	// weightsGrad adds what a block gives to the gradients that come from no projection.
	weightsGrad(p *Pass, k *worker, layer int)
	// operations lists what mix left, in order.
	operations(p *Pass, layer int) []Operation
}

// mixers returns the mixer of each layer, by the layer's type.
func mixers(c model.Config) []mixer {
	types := map[string]mixer{model.FullAttention: fullAttention{}, model.LinearAttention: linearAttention{}, model.SparseAttention: sparseAttention{}}
	list := make([]mixer, c.Layers)
	for l := range list {
		list[l] = types[c.LayerType(l)]
	}
	return list
}

// fullAttention is softmax attention: rotation, keys and values in the cache's format, and a
// kernel over all positions up to a row's own.
type fullAttention struct{}

func (fullAttention) grow(p *Pass, s *layerState, rows int) {
	s.lse = grown(s.lse, rows*p.config.Heads)
}

func (fullAttention) growBack(*Pass, *blockGrad, int) {}

func (fullAttention) mix(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	p.placeHeads(k, layer, s, from, to)
	p.chooseAll(k, layer)
	p.attend(k, layer, s, from)
}

func (fullAttention) mixGrad(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	p.attendGrad(k, layer, s, from)
}

// weightsGrad adds to no weights: the keys and values of prefixes are parameters of the
// sequences that go on from them.
func (fullAttention) weightsGrad(p *Pass, k *worker, layer int) { p.prefixGrad(k, layer) }

func (fullAttention) operations(p *Pass, layer int) []Operation {
	s, d, kv := &p.layers[layer], p.config.DModel, p.config.KVDim()
	stride := p.fusedWidth(layer)
	columns := func(name string, from, width int) Operation {
		return Operation{name, layer, appendRows(make([]float32, 0, p.rows*width), s.fused[from:p.rows*stride], stride, width), width}
	}
	return []Operation{
		columns("queries", 0, d), columns("keys", d, kv), columns("values", d+kv, kv),
		{"attention", layer, s.mixed.dense[:p.rows*d], d},
	}
}

// linearAttention is a layer of Gated DeltaNet (arXiv:2412.06464, section 3.4): queries, keys
// and values go through a short convolution and SiLU, queries and keys are normalised, the
// gated delta rule mixes positions, and each head's output is normalised and gated:
//
//	mixed = RMSNorm(rule)·silu(z)
//
// Decay and write strength of a head are projections, too.
type linearAttention struct{}

// deltaState is the inside of a linear-attention layer. Its rows are the rows of the layerState.
type deltaState struct {
	conv         []float32    // [rows, 3·d] after the convolution
	acted        [2][]float32 // [rows, d] queries and keys after SiLU
	inverse      [2][]float32 // [rows, heads] 1/norm of their heads
	queries      []float32    // [rows, d] normalised and scaled
	keys, values []float32    // [rows, d]
	beta, decay  []float32    // [rows, heads]
	out          []float32    // [rows, d] of the delta rule
	outInverse   []float32    // [rows, heads]
	outNormed    []float32    // [rows, d]
}

// deltaGrad holds the gradients inside a block of a linear-attention layer.
type deltaGrad struct {
	normed, out, queries, keys, values []float32 // [rows, d]
	conv                               []float32 // [rows, 3·d]
	beta, decay                        []float32 // [rows, heads]
	gate                               []float32 // [d]
}

func (linearAttention) grow(p *Pass, s *layerState, rows int) {
	c, n := &p.config, &s.delta
	d, heads := c.DModel, c.Heads
	n.conv = grown(n.conv, rows*3*d)
	for i := range n.acted {
		n.acted[i], n.inverse[i] = grown(n.acted[i], rows*d), grown(n.inverse[i], rows*heads)
	}
	n.queries, n.keys, n.values = grown(n.queries, rows*d), grown(n.keys, rows*d), grown(n.values, rows*d)
	n.beta, n.decay = grown(n.beta, rows*heads), grown(n.decay, rows*heads)
	n.out, n.outInverse, n.outNormed = grown(n.out, rows*d), grown(n.outInverse, rows*heads), grown(n.outNormed, rows*d)
}

func (linearAttention) growBack(p *Pass, b *blockGrad, rows int) {
	d, heads, g := p.config.DModel, p.config.Heads, &b.delta
	g.normed, g.out, g.conv, g.gate = grown(g.normed, rows*d), grown(g.out, rows*d), grown(g.conv, rows*3*d), grown(g.gate, d)
	g.queries, g.keys, g.values = grown(g.queries, rows*d), grown(g.keys, rows*d), grown(g.values, rows*d)
	g.beta, g.decay = grown(g.beta, rows*heads), grown(g.decay, rows*heads)
}

// l2Eps is added to the sum of squares inside the norms of queries and keys.
const l2Eps = 1e-6

func (linearAttention) mix(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	c, n, w := &p.config, &s.delta, p.weights.layers[layer].linear
	d, heads, hd, width := c.DModel, c.Heads, c.HeadDim(), p.fusedWidth(layer)
	rows := to - from
	for q := range p.sequences(k) {
		first, end := q.from+from, q.to+from
		tail, _ := p.deltaMemory(k, layer, q.number)
		if p.pack.Positions[k.rowFrom+q.from] == 0 {
			clear(tail)
		}
		kernel.ShortConv(n.conv[first*3*d:end*3*d], s.fused[first*width:], tail, w.conv, end-first, 3*d, width, model.ConvWidth)
	}
	for r := from; r < to; r++ {
		x := n.conv[r*3*d : (r+1)*3*d]
		for i, dst := range [][]float32{n.acted[0], n.acted[1], n.values} {
			kernel.SiLU(dst[r*d:(r+1)*d], x[i*d:(i+1)*d], p.num.activations)
		}
	}
	for i, dst := range [][]float32{n.queries, n.keys} {
		kernel.RMSNorm(dst[from*d:to*d], n.inverse[i][from*heads:to*heads], n.acted[i][from*d:to*d], w.gains[i], rows*heads, hd, l2Eps/float32(hd), p.num.norm)
	}
	kernel.DeltaGates(n.beta[from*heads:to*heads], n.decay[from*heads:to*heads], s.fused[from*width+4*d:], w.decayLog, w.decayBias, rows, heads, width)
	for q := range p.sequences(k) {
		first, end := q.from+from, q.to+from
		_, state := p.deltaMemory(k, layer, q.number)
		kernel.DeltaRule(n.out[first*d:end*d], n.queries[first*d:end*d], n.keys[first*d:end*d], n.values[first*d:end*d],
			n.beta[first*heads:end*heads], n.decay[first*heads:end*heads], state, end-first, heads, hd,
			int(p.pack.Positions[k.rowFrom+q.from]), p.num.delta, &k.scratch)
		if cache := p.options.Cache; cache != nil { // how far the state has come
			cache.reached[layer][p.options.Slots[q.number]] = p.pack.Positions[k.rowFrom+q.to-1] + 1
		}
	}
	kernel.RMSNorm(n.outNormed[from*d:to*d], n.outInverse[from*heads:to*heads], n.out[from*d:to*d], w.norm, rows*heads, hd, float32(c.NormEps), p.num.norm)
	for r := from; r < to; r++ {
		kernel.SiLUGate(s.mixed.dense[r*d:(r+1)*d], s.fused[r*width+3*d:][:d], n.outNormed[r*d:(r+1)*d], d, p.num.activations)
	}
}

// deltaMemory is what a sequence carries from pass to pass in a linear-attention layer: the
// rows before its next one, for the convolution, and the state of the delta rule. It belongs
// to the position that the pack goes on from, and is of no meaning at the first.
func (p *Pass) deltaMemory(k *worker, layer, sequence int) (tail, state []float32) {
	memory := k.delta
	if cache := p.options.Cache; cache != nil {
		memory = cache.state(layer, p.options.Slots[sequence], int(p.pack.Positions[p.pack.Offsets[sequence]]))
	}
	n := (model.ConvWidth - 1) * 3 * p.config.DModel
	return memory[:n], memory[n:]
}

func deltaMemorySize(c model.Config, n Numerics) int {
	return (model.ConvWidth-1)*3*c.DModel + kernel.DeltaStateSize(c.Heads, c.HeadDim(), n.LinearAttention)
}

func (linearAttention) mixGrad(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	c, n, b, w := &p.config, &s.delta, &k.back, p.weights.layers[layer].linear
	d, heads, hd, width, g := c.DModel, c.Heads, c.HeadDim(), p.fusedWidth(layer), &k.back.delta
	rows := to - from
	for r := range rows {
		gate, normed := s.fused[(from+r)*width+3*d:][:d], n.outNormed[(from+r)*d:][:d]
		kernel.SiLUGateGrad(b.qkv[r*width+3*d:][:d], g.normed[r*d:][:d], b.mixed[r*d:][:d], gate, normed, d)
	}
	kernel.RMSNormInputGrad(g.out, g.normed, n.out[from*d:to*d], n.outInverse[from*heads:to*heads], w.norm, rows*heads, hd, false)
	for q := range p.sequences(k) {
		first, end := q.from, q.to
		x, y := first+from, end+from // the rows in s
		kernel.DeltaRuleGrad(g.queries[first*d:end*d], g.keys[first*d:end*d], g.values[first*d:end*d], g.beta[first*heads:end*heads], g.decay[first*heads:end*heads],
			g.out[first*d:end*d], n.queries[x*d:y*d], n.keys[x*d:y*d], n.values[x*d:y*d], n.beta[x*heads:y*heads], n.decay[x*heads:y*heads],
			end-first, heads, hd, p.num.delta, &k.scratch)
	}
	kernel.DeltaGatesGrad(b.qkv[4*d:], g.beta, g.decay, s.fused[from*width+4*d:], n.beta[from*heads:], w.decayLog, w.decayBias, rows, heads, width)
	for i, dx := range [][]float32{g.queries, g.keys} {
		kernel.RMSNormInputGrad(dx, dx, n.acted[i][from*d:to*d], n.inverse[i][from*heads:to*heads], w.gains[i], rows*heads, hd, false)
	}
	for r := range rows {
		row, conv := g.conv[r*3*d:(r+1)*3*d], n.conv[(from+r)*3*d:][:3*d]
		for i, dx := range [][]float32{g.queries, g.keys, g.values} {
			kernel.SiLUGrad(row[i*d:(i+1)*d], dx[r*d:(r+1)*d], conv[i*d:(i+1)*d])
		}
	}
	for q := range p.sequences(k) {
		kernel.ShortConvGrad(b.qkv[q.from*width:], g.conv[q.from*3*d:q.to*3*d], w.conv, q.to-q.from, 3*d, width, model.ConvWidth)
	}
}

func (linearAttention) weightsGrad(p *Pass, k *worker, layer int) {
	c, to := &p.config, p.back.grad.Layer(layer).Linear
	d, heads, hd, width := c.DModel, c.Heads, c.HeadDim(), p.fusedWidth(layer)
	s, from, end := p.place(k, layer)
	rows, n, g := end-from, &s.delta, &k.back.delta
	kernel.RMSNormGainGrad(to.Norm, g.normed, n.out[from*d:], n.outInverse[from*heads:], rows*heads, hd)
	kernel.DeltaGatesParamGrad(to.DecayLog, to.DecayBias, g.decay, n.decay[from*heads:], k.back.qkv[4*d:], rows, heads, width)
	for q := range p.sequences(k) {
		kernel.ShortConvWeightGrad(to.Conv, g.conv[q.from*3*d:], s.fused[(from+q.from)*width:], q.to-q.from, 3*d, width, model.ConvWidth)
	}
}

func (linearAttention) operations(p *Pass, layer int) []Operation {
	n, d, heads := &p.layers[layer].delta, p.config.DModel, p.config.Heads
	return []Operation{
		{"projection", layer, p.layers[layer].fused[:p.rows*p.fusedWidth(layer)], p.fusedWidth(layer)},
		{"convolution", layer, n.conv[:p.rows*3*d], 3 * d},
		{"queries", layer, n.queries[:p.rows*d], d},
		{"keys", layer, n.keys[:p.rows*d], d},
		{"values", layer, n.values[:p.rows*d], d},
		{"decay", layer, n.decay[:p.rows*heads], heads},
		{"delta rule", layer, n.out[:p.rows*d], d},
		{"attention", layer, p.layers[layer].mixed.dense[:p.rows*d], d},
	}
}

// linearWeights are what a linear-attention layer has next to its projections, in the format
// of the activations.
type linearWeights struct {
	conv, decayLog, decayBias, norm []float32
	gains                           [2][]float32 // of the norms of queries and keys
}

func (w *linearWeights) publish(p *model.LinearLayer, headDim int, n *Numerics) {
	w.conv, w.norm = rounded(w.conv, p.Conv, n.Activations), rounded(w.norm, p.Norm, n.Activations)
	w.decayLog, w.decayBias = rounded(w.decayLog, p.DecayLog, n.Activations), rounded(w.decayBias, p.DecayBias, n.Activations)
	for i, gain := range [2]float32{1 / float32(headDim), float32(1 / math.Sqrt(float64(headDim)))} {
		w.gains[i] = grown(w.gains[i], headDim)
		for j := range w.gains[i] {
			w.gains[i][j] = gain
		}
	}
}

// state is the memory of a slot in a linear-attention layer, for a row at that position.
func (k *Cache) state(layer, slot, position int) []float32 {
	if at := int(k.reached[layer][slot]); position != 0 && at != position {
		panic(fmt.Sprintf("engine: layer %d, slot %d goes on from position %d, and its state is that of %d", layer, slot, position, at))
	}
	return k.states[layer][slot*k.perState : (slot+1)*k.perState]
}

// Retention restricts the attention of each row to the positions that a
// compressed KV cache still held when the row was computed. A row whose
// positions are all there runs the ordinary kernel; any other reads keys and
// values laid side by side without gaps, in the order of their positions, as in
// a cache that was compacted: rotations are applied before keys are stored, so
// moving them loses nothing. Whoever replays a retention therefore computes the
// bits of the engine that recorded it.
type Retention struct {
	// Planes is 1 where all layers and key heads hold the same positions, else
	// layers × key heads, in the order [layer][key head].
	Planes int
	// PerLayer says that all key heads of a layer hold the same, and Planes are layers: what
	// the indices of sparse attention chose.
	PerLayer bool
	// Words is the number of words of one plane of one row: RetentionWords.
	Words int
	// Kept has a bit for each position, [row][plane][word]: position p is bit p%64
	// of word p/64. A row holds itself, nothing after itself, and equally many
	// positions in every plane of a layer.
	Kept []uint64
}

// RetentionWords is the number of words that hold one bit per position.
func RetentionWords(positions int) int { return (positions + 63) / 64 }

// FirstBits is a word of a plane with its first n bits set.
func FirstBits(n int) uint64 {
	if n >= 64 {
		return math.MaxUint64
	}
	return 1<<max(n, 0) - 1
}

func (r *Retention) plane(row, layer, head, kvHeads int) []uint64 {
	at := row * r.Planes
	switch {
	case r.PerLayer:
		at += layer
	case r.Planes > 1:
		at += layer*kvHeads + head
	}
	return r.Kept[at*r.Words:][:r.Words]
}

// check panics on bits that do not fit the pack.
func (r *Retention) check(rows int, c *model.Config, indexed bool) {
	planes, context := c.Layers*c.KVHeads, c.Context
	if r.PerLayer {
		planes = c.Layers
	}
	if r.PerLayer != indexed || r.Planes != planes && (r.PerLayer || r.Planes != 1) || r.Words != RetentionWords(context) || len(r.Kept) < rows*r.Planes*r.Words {
		panic(fmt.Sprintf("engine: retention of %d words in %d planes of %d, %d rows of a model with %d planes and a context of %d",
			len(r.Kept), r.Planes, r.Words, rows, planes, context))
	}
}

func count(plane []uint64) int {
	n := 0
	for _, w := range plane {
		n += bits.OnesCount64(w)
	}
	return n
}

// attendKept is attend for the rows from..to of s, one sequence's, under a
// retention: runs of rows that hold everything at once, any other row by itself.
// In the pack, the rows stand by the shift before those of s.
func (p *Pass) attendKept(k *worker, layer, from, to, shift int, s *layerState, cache kernel.KV) {
	c, r := &p.config, p.options.Retention
	d, hd, width := c.DModel, c.HeadDim(), p.fusedWidth(layer)
	for from < to {
		held := count(r.plane(from-shift, layer, 0, c.KVHeads))
		run, n := from+1, int(p.pack.Positions[from-shift])+1
		if held == n {
			for run < to && count(r.plane(run-shift, layer, 0, c.KVHeads)) == int(p.pack.Positions[run-shift])+1 {
				run++
			}
			p.attention.Attend(s.mixed.dense[from*d:run*d], p.lse(s, from, run), s.fused[from*width:run*width], width,
				cache, run-from, n, kernel.KV{}, &k.scratch)
		} else {
			room := roundUp16(held)
			k.kept.Keys, k.kept.Values = grown(k.kept.Keys, c.KVDim()*room), grown(k.kept.Values, c.KVDim()*room)
			for h := range c.KVHeads {
				plane := r.plane(from-shift, layer, h, c.KVHeads)
				if count(plane) != held || plane[(n-1)/64]>>((n-1)%64) != 1 {
					panic(fmt.Sprintf("engine: retention of row %d, layer %d, key head %d: %x at position %d", from-shift, layer, h, plane, n-1))
				}
				compact(k.kept.Keys[h*hd*16:], k.kept.Values[h*hd:], cache.Keys[h*hd*16:], cache.Values[h*hd:], plane, hd, c.KVDim())
			}
			p.attention.Attend(s.mixed.dense[from*d:run*d], p.lse(s, from, run), s.fused[from*width:run*width], width,
				k.kept, 1, held, kernel.KV{}, &k.scratch)
		}
		from = run
	}
}

// compact copies one head's keys and values of the positions in a plane,
// without gaps, in the cache's layout of keys and values of that width.
func compact(toKeys, toValues, keys, values []float32, plane []uint64, headDim, width int) {
	at := 0
	for w, word := range plane {
		for ; word != 0; word &= word - 1 {
			position := w*64 + bits.TrailingZeros64(word)
			src, dst := keys[keyAt(position, width):], toKeys[keyAt(at, width):]
			for i := range headDim {
				dst[i*16] = src[i*16]
			}
			copy(toValues[at*width:][:headDim], values[position*width:][:headDim])
			at++
		}
	}
}

// keptFor is the retention as the backward kernel takes it, for a sequence
// whose first row is given.
func (p *Pass) keptFor(first, layer int) kernel.Kept {
	r := p.options.Retention
	if r == nil {
		return kernel.Kept{}
	}
	k := kernel.Kept{Bits: r.Kept[first*r.Planes*r.Words:], Row: r.Planes * r.Words}
	switch {
	case r.PerLayer:
		k.Bits = k.Bits[layer*r.Words:]
	case r.Planes > 1:
		k.Bits, k.Head = k.Bits[layer*p.config.KVHeads*r.Words:], r.Words
	}
	return k
}

// Mass is the attention that the positions of a cache have received: for each
// slot, layer, key head and position the sum of the attention weights over the
// queries so far and the query heads that read the key head. It is what
// heavy-hitter eviction ranks positions by (H2O, arXiv:2306.14048).
type Mass struct {
	kvHeads, capacity, perSlot int
	sums                       []float32
}

// NewMass returns zeroed sums for the slots of a cache.
func NewMass(k *Cache) *Mass {
	kvHeads := k.perSlot / (k.capacity * k.headDim)
	perSlot := len(k.keys) * kvHeads * k.capacity
	return &Mass{kvHeads, k.capacity, perSlot, make([]float32, k.slots*perSlot)}
}

func (m *Mass) slot(slot int) []float32 { return m.sums[slot*m.perSlot:][:m.perSlot] }

// Clear forgets a slot.
func (m *Mass) Clear(slot int) { clear(m.slot(slot)) }

// Of returns the sums of one slot, layer and key head, by position.
func (m *Mass) Of(slot, layer, head int) []float32 {
	return m.slot(slot)[(layer*m.kvHeads+head)*m.capacity:][:m.capacity]
}

// AppendSlot appends the sums of the first n positions of a slot to dst, layer by
// layer and head by head. SetSlot puts them into any slot of that shape.
func (m *Mass) AppendSlot(dst []float32, slot, n int) []float32 {
	for sums := range slices.Chunk(m.slot(slot), m.capacity) {
		dst = append(dst, sums[:n]...)
	}
	return dst
}

// SetSlot makes what AppendSlot appended of n positions the sums of a slot, which
// has no others.
func (m *Mass) SetSlot(slot, n int, from []float32) {
	m.Clear(slot)
	for sums := range slices.Chunk(m.slot(slot), m.capacity) {
		from = from[copy(sums[:n], from):]
	}
}

// addMass adds the attention weights of a sequence's rows, which in s stand by
// the shift after those of the pack, to the sums. They are
// computed again from the queries and keys that attention read, in float32 and
// unfused, and from its log-sum-exp: exp(q·k·scale - lse). It ranks positions
// and enters no log-prob, so the scores' own format is left out.
func (p *Pass) addMass(sequence, layer, shift int, s *layerState, keys []float32) {
	c, m, scale := &p.config, p.options.Mass, p.attention.Scale()
	hd, group := c.HeadDim(), c.Heads/c.KVHeads
	for row := p.pack.Offsets[sequence]; row < p.pack.Offsets[sequence+1]; row++ {
		for h := range c.Heads {
			q, lse := s.fused[(row+shift)*p.fusedWidth(layer)+h*hd:][:hd], s.lse[(row+shift)*c.Heads+h]
			sums := m.Of(p.options.Slots[sequence], layer, h/group)
			head := keys[h/group*hd*16:]
			each := func(position int) {
				key := head[keyAt(position, c.KVDim()):]
				var dot float32
				for i, x := range q {
					dot += float32(x * key[i*16])
				}
				sums[position] += kernel.Exp32(float32(dot*scale) - lse)
			}
			p.eachHeld(row, layer, h/group, each)
		}
	}
}

// eachHeld calls f with the positions that a row attends, in order.
func (p *Pass) eachHeld(row, layer, head int, f func(position int)) {
	if p.options.Retention == nil {
		for position := range int(p.pack.Positions[row]) + 1 {
			f(position)
		}
		return
	}
	for w, word := range p.options.Retention.plane(row, layer, head, p.config.KVHeads) {
		for ; word != 0; word &= word - 1 {
			f(w*64 + bits.TrailingZeros64(word))
		}
	}
}

// sparseAttention is softmax attention to the positions that an index chooses (model.IndexLayer).
// Its choice is a Retention that the pass makes itself, row by row; or one that is replayed.
// It has no gradient, so the index has none: the backward pass differentiates attention to
// the chosen positions.
type sparseAttention struct{ fullAttention }

func (sparseAttention) grow(p *Pass, s *layerState, rows int) {
	fullAttention{}.grow(p, s, rows)
	s.index = grown(s.index, rows*p.config.IndexWidth())
}

func (sparseAttention) mix(p *Pass, k *worker, layer int, s *layerState, from, to int) {
	p.placeHeads(k, layer, s, from, to)
	p.projectIndex(k, layer, s, from, to)
	p.choose(k, layer, s, from)
	p.attend(k, layer, s, from)
}

func (sparseAttention) operations(p *Pass, layer int) []Operation {
	width := p.config.IndexWidth()
	return append([]Operation{{"index", layer, p.layers[layer].index[:p.rows*width], width}}, fullAttention{}.operations(p, layer)...)
}

// projectIndex computes queries, key and weights of the index for the rows of a block, turned
// by their positions and in the index's format.
func (p *Pass) projectIndex(k *worker, layer int, s *layerState, from, to int) {
	c, rows, width := &p.config, to-from, p.config.IndexWidth()
	d, hd, heads := c.DModel, c.HeadDim(), c.IndexHeads
	index := s.index[from*width : to*width]
	values, scales := k.in.attention.rows(0, rows, d)
	kernel.Linear(index, values, scales, &p.weights.layers[layer].index, rows, p.num.projection, &k.scratch)
	for r := range rows {
		row := index[r*width:][:(heads+1)*hd]
		p.rotate(row, width, p.pack.Positions[k.rowFrom+r:][:1], heads+1)
		if p.num.index != precision.Unscaled(p.num.activations) {
			p.num.index.RoundTrip(row, row, heads+1, hd)
		}
	}
}

// choose decides which positions the rows of a block attend to, sequence by sequence: those
// recorded, where there is a record, and else those of the largest scores.
func (p *Pass) choose(k *worker, layer int, s *layerState, at int) {
	c, shift, width := &p.config, at-k.rowFrom, p.config.IndexWidth()
	hd, heads := c.HeadDim(), c.IndexHeads
	k.prefix = -1
	for q := range p.sequences(k) {
		from, to := k.rowFrom+q.from, k.rowFrom+q.to
		index := p.cacheOf(k, layer, q.number)
		index.Keys, index.Values = ofIndex(c, index.Keys), ofIndex(c, index.Values)
		k.indexKeys = k.indexKeys[:0]
		for r := from; r < to; r++ {
			k.indexKeys = append(k.indexKeys, s.index[(r+shift)*width+heads*hd:][:hd]...)
		}
		kernel.StoreKV(index, k.indexKeys, k.indexKeys, hd, to-from, int(p.pack.Positions[from]), hd)
		for r := from; r < to; r++ {
			plane := p.choice.plane(r, layer, 0, c.KVHeads)
			if p.recorded != nil {
				if copy(plane, p.recorded.plane(r, layer, 0, c.KVHeads)); count(plane) > 0 {
					continue
				}
			}
			n, row := int(p.pack.Positions[r])+1, s.index[(r+shift)*width:][:width]
			if k.scores = grown(k.scores, n); n > c.IndexTopK {
				kernel.IndexScores(k.scores, row, row[(heads+1)*hd:], index.Keys, n, hd)
			}
			kernel.LargestScores(plane, k.scores, n, c.IndexTopK, &k.scratch)
		}
	}
}

// ofIndex is the part of a sequence's keys, or values, that belongs to the index.
func ofIndex(c *model.Config, all []float32) []float32 {
	return all[len(all)/(c.KVDim()+c.HeadDim())*c.KVDim():]
}

// chooseAll is the choice of the rows of a block in a layer without an index: every position
// up to their own.
func (p *Pass) chooseAll(k *worker, layer int) {
	for r := k.rowFrom; r < k.rowTo && p.indexed; r++ {
		n := int(p.pack.Positions[r]) + 1
		kernel.LargestScores(p.choice.plane(r, layer, 0, p.config.KVHeads), nil, n, n, &k.scratch)
	}
}

// beginChoice makes room for the choices of the pack's rows, and takes what is replayed.
func (p *Pass) beginChoice() {
	if !p.indexed {
		return
	}
	p.recorded, p.options.Retention = p.options.Retention, &p.choice
	c, r := &p.config, &p.choice
	r.Planes, r.Words, r.PerLayer = c.Layers, RetentionWords(c.Context), true
	r.Kept = grown(r.Kept, p.rows*r.Planes*r.Words)
	clear(r.Kept)
}

// Choices are the positions that every row of a model with sparse attention attended to, in
// the order of Retention.Kept with a plane for each layer, valid until the next Begin; nil
// for any other model.
func (p *Pass) Choices() []uint64 {
	if !p.indexed {
		return nil
	}
	return p.choice.Kept
}

// keyHeads is the number of heads of keys in a cache: those of the attention, and that of the
// index.
func keyHeads(c *model.Config) int {
	if c.HasLayer(model.SparseAttention) {
		return c.KVHeads + 1
	}
	return c.KVHeads
}
