package engine

import (
	"fmt"
	"math/bits"

	"driftlab/engine/kernel"
	"driftlab/model"
)

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

// RetentionWords is the number of words that hold a bit for each of so many positions.
func RetentionWords(positions int) int { return (positions + 63) / 64 }

// plane returns the bits of a row for one key head of a layer.
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

// count is the number of positions in a plane.
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
	layers, kvHeads, capacity int
	sums                      []float32
}

// NewMass returns zeroed sums for the slots of a cache.
func NewMass(k *Cache) *Mass {
	m := &Mass{len(k.keys), k.perSlot / (k.capacity * k.headDim), k.capacity, nil}
	m.sums = make([]float32, k.slots*m.layers*m.kvHeads*m.capacity)
	return m
}

// Clear forgets a slot.
func (m *Mass) Clear(slot int) {
	n := m.layers * m.kvHeads * m.capacity
	clear(m.sums[slot*n : (slot+1)*n])
}

// Of returns the sums of one slot, layer and key head, by position.
func (m *Mass) Of(slot, layer, head int) []float32 {
	return m.sums[((slot*m.layers+layer)*m.kvHeads+head)*m.capacity:][:m.capacity]
}

// AppendSlot appends the sums of the first n positions of a slot to dst, layer by
// layer and head by head. SetSlot puts them into any slot of that shape.
func (m *Mass) AppendSlot(dst []float32, slot, n int) []float32 {
	for layer := range m.layers {
		for head := range m.kvHeads {
			dst = append(dst, m.Of(slot, layer, head)[:n]...)
		}
	}
	return dst
}

// SetSlot makes what AppendSlot appended of n positions the sums of a slot, which
// has no others.
func (m *Mass) SetSlot(slot, n int, from []float32) {
	m.Clear(slot)
	for layer := range m.layers {
		for head := range m.kvHeads {
			from = from[copy(m.Of(slot, layer, head)[:n], from):]
		}
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
