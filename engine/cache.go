package engine

import (
	"fmt"

	"driftlab/engine/kernel"
	"driftlab/model"
)

// Cache keeps keys and values of a fixed number of sequences, by slot. Keys lie in panels of
// 16 positions, [head][head dim][position], so that the scores of one query
// against all keys are one vector loop; values are [position][head][head dim]. The keys of
// the index of sparse attention follow all others, like those of another cache. Its values are not read.
type Cache struct {
	capacity int // positions per slot, a multiple of 16
	slots    int
	perSlot  int // floats per slot, layer and side
	headDim  int
	width    int // floats per position of the keys and of the values, without those of the index
	keys     [][]float32
	values   [][]float32 // by layer
	// of linear attention, by layer: what each slot carries from pass to pass in place of keys
	// and values, and the position that it goes on from
	states   [][]float32
	reached  [][]int32
	perState int // floats per slot and layer
	linear   int // layers that have them
}

// NewCache returns a cache for slots sequences of at most the model's context, of an engine
// that computes in the given numerics.
func NewCache(c model.Config, n Numerics, slots int) *Cache {
	capacity := roundUp16(c.Context)
	k := &Cache{capacity: capacity, slots: slots, perSlot: keyHeads(&c) * c.HeadDim() * capacity, headDim: c.HeadDim(), width: c.KVDim(), perState: deltaMemorySize(c, n)}
	k.keys, k.values = make([][]float32, c.Layers), make([][]float32, c.Layers)
	k.states, k.reached = make([][]float32, c.Layers), make([][]int32, c.Layers)
	for l := range c.Layers {
		if c.LayerType(l) == model.LinearAttention {
			k.states[l], k.reached[l] = make([]float32, slots*k.perState), make([]int32, slots)
			k.linear++
			continue
		}
		k.keys[l], k.values[l] = make([]float32, slots*k.perSlot), make([]float32, slots*k.perSlot)
	}
	return k
}

// CopyPrefix gives slot dst the keys and values of the first n positions of
// slot src, in every layer. What dst held beyond them is lost.
func (k *Cache) CopyPrefix(dst, src, n int) {
	if n < 0 || n > k.capacity {
		panic(fmt.Sprintf("engine: %d positions to copy, slots hold %d", n, k.capacity))
	}
	k.mustCut()
	for layer := range k.keys {
		to, from := k.at(layer, dst), k.at(layer, src)
		copy(to.Keys[:roundUp16(n)*k.width], from.Keys)
		copy(to.Values[:n*k.width], from.Values)
		if index := k.capacity * k.width; index < k.perSlot { // AppendSlot has the index's values, too
			copy(to.Keys[index:][:roundUp16(n)*k.headDim], from.Keys[index:])
			copy(to.Values[index:][:n*k.headDim], from.Values[index:])
		}
	}
}

// Cuts reports whether the cache can give a part of a sequence: it has keys and values for
// each position, but a state of linear attention covers all positions so far.
func (k *Cache) Cuts() bool { return k.linear == 0 }

func (k *Cache) mustCut() {
	if !k.Cuts() {
		panic("engine: a part of a sequence whose state is that of the whole: linear attention")
	}
}

// perPosition is the number of floats of keys and values of each position.
func (k *Cache) perPosition() int { return 2 * (len(k.keys) - k.linear) * k.perSlot / k.capacity }

// SlotSize is the number of floats that AppendSlot appends for n positions, and AppendRange
// for as many.
func (k *Cache) SlotSize(n int) int {
	if n == 0 {
		return 0
	}
	return n*k.perPosition() + k.linear*k.perState
}

// AppendSlot appends the keys and values of the first n positions of a slot to
// dst, in every layer: keys and values of the first head, then of the next,
// position by position; then the states of linear attention, which are those after all n.
// SetSlot puts them into any slot of a cache of that shape.
func (k *Cache) AppendSlot(dst []float32, slot, n int) []float32 {
	dst = k.appendKeys(dst, slot, 0, n)
	for layer, states := range k.states {
		if states != nil && n > 0 {
			dst = append(dst, k.state(layer, slot, n)...)
		}
	}
	return dst
}

// AppendRange is AppendSlot for the positions from..to-1 of a cache that Cuts.
func (k *Cache) AppendRange(dst []float32, slot, from, to int) []float32 {
	k.mustCut()
	return k.appendKeys(dst, slot, from, to)
}

func (k *Cache) appendKeys(dst []float32, slot, from, to int) []float32 {
	k.each(slot, from, to, func(keys, values []float32, width int) {
		for position := from; position < to; position++ {
			for i := range k.headDim {
				dst = append(dst, keys[keyAt(position, width)+i*16])
			}
		}
		for position := range to - from {
			dst = append(dst, values[position*width:][:k.headDim]...)
		}
	})
	return dst
}

// SetSlot makes what AppendSlot appended of n positions those of a slot.
func (k *Cache) SetSlot(slot, n int, x []float32) {
	k.checkSize(n, x)
	x = k.setKeys(slot, 0, n, x)
	for layer, states := range k.states {
		if states != nil && n > 0 {
			k.reached[layer][slot] = int32(n)
			x = x[copy(k.state(layer, slot, n), x):]
		}
	}
}

// SetRange makes what AppendRange appended those of the positions from..to-1.
func (k *Cache) SetRange(slot, from, to int, x []float32) {
	k.mustCut()
	k.checkSize(to-from, x)
	k.setKeys(slot, from, to, x)
}

func (k *Cache) checkSize(n int, x []float32) {
	if len(x) != k.SlotSize(n) {
		panic(fmt.Sprintf("engine: %d floats for %d positions, which have %d", len(x), n, k.SlotSize(n)))
	}
}

// setKeys returns what stands after the keys and values.
func (k *Cache) setKeys(slot, from, to int, x []float32) []float32 {
	n := to - from
	k.each(slot, from, to, func(keys, values []float32, width int) {
		for position := range n {
			for i := range k.headDim {
				keys[keyAt(from+position, width)+i*16] = x[position*k.headDim+i]
			}
		}
		x = x[n*k.headDim:]
		for position := range n {
			copy(values[position*width:][:k.headDim], x)
			x = x[k.headDim:]
		}
	})
	return x
}

// each calls f with the keys of every head of a slot, from its first on, and its values
// from..to-1, which stand at the beginning of rows of that width.
func (k *Cache) each(slot, from, to int, f func(keys, values []float32, width int)) {
	if from < 0 || to < from || to > k.capacity {
		panic(fmt.Sprintf("engine: positions %d to %d, slots hold %d", from, to, k.capacity))
	}
	if from == to {
		return
	}
	heads, index := k.width/k.headDim, k.capacity*k.width
	for layer := range k.keys {
		if k.keys[layer] == nil {
			continue
		}
		kv := k.at(layer, slot)
		keys, values := kv.Keys, kv.Values
		for h := range heads {
			f(keys[h*k.headDim*16:index], values[from*k.width+h*k.headDim:to*k.width], k.width)
		}
		if index < k.perSlot {
			f(keys[index:], values[index+from*k.headDim:index+to*k.headDim], k.headDim)
		}
	}
}

// keyAt is the place of the first entry of a position's key, of those that have that width:
// the others follow 16 floats apart.
func keyAt(position, width int) int { return position&^15*width + position&15 }

// at returns keys and values of one slot in one layer, all heads.
func (k *Cache) at(layer, slot int) kernel.KV {
	from := slot * k.perSlot
	return kernel.KV{Keys: k.keys[layer][from : from+k.perSlot], Values: k.values[layer][from : from+k.perSlot]}
}

func roundUp16(n int) int { return (n + 15) &^ 15 }
