package engine

import (
	"fmt"

	"driftlab/model"
)

// Cache keeps keys and values of a fixed number of sequences, by slot. Keys
// are stored transposed, [head dim][position], so that the scores of one query
// against all keys are one vector loop; values are [position][head dim].
type Cache struct {
	capacity int // positions per slot, a multiple of 16
	slots    int
	perSlot  int // floats per slot, layer and side
	headDim  int
	keys     [][]float32
	values   [][]float32 // by layer
}

// NewCache returns a cache for slots sequences of at most the model's context.
func NewCache(c model.Config, slots int) *Cache {
	capacity := roundUp16(c.Context)
	k := &Cache{capacity: capacity, slots: slots, perSlot: c.KVHeads * c.HeadDim() * capacity, headDim: c.HeadDim()}
	for range c.Layers {
		k.keys = append(k.keys, make([]float32, slots*k.perSlot))
		k.values = append(k.values, make([]float32, slots*k.perSlot))
	}
	return k
}

// Slots returns the number of sequences the cache can hold.
func (k *Cache) Slots() int { return k.slots }

// CopyPrefix gives slot dst the keys and values of the first n positions of
// slot src, in every layer. What dst held beyond them is lost.
func (k *Cache) CopyPrefix(dst, src, n int) {
	if n < 0 || n > k.capacity {
		panic(fmt.Sprintf("engine: %d positions to copy, slots hold %d", n, k.capacity))
	}
	// Heads lie one behind the other, and keys in panels of 16 positions.
	head, keys, values := k.capacity*k.headDim, roundUp16(n)*k.headDim, n*k.headDim
	for layer := range k.keys {
		toKeys, toValues := k.at(layer, dst)
		fromKeys, fromValues := k.at(layer, src)
		for at := 0; at < k.perSlot; at += head {
			copy(toKeys[at:at+keys], fromKeys[at:])
			copy(toValues[at:at+values], fromValues[at:])
		}
	}
}

// PerPosition is the number of floats that AppendSlot appends for each position.
func (k *Cache) PerPosition() int { return 2 * len(k.keys) * k.perSlot / k.capacity }

// AppendSlot appends the keys and values of the first n positions of a slot to
// dst, in every layer: keys and values of the first head, then of the next,
// position by position. SetSlot puts them into any slot of a cache of that shape.
func (k *Cache) AppendSlot(dst []float32, slot, n int) []float32 {
	return k.AppendRange(dst, slot, 0, n)
}

// AppendRange is AppendSlot for the positions from..to-1.
func (k *Cache) AppendRange(dst []float32, slot, from, to int) []float32 {
	k.each(slot, from, to, func(keys, values []float32) {
		for position := from; position < to; position++ {
			for i := range k.headDim {
				dst = append(dst, keys[k.key(position, i)])
			}
		}
		dst = append(dst, values...)
	})
	return dst
}

// SetSlot makes what AppendSlot appended of n positions those of a slot.
func (k *Cache) SetSlot(slot, n int, x []float32) { k.SetRange(slot, 0, n, x) }

// SetRange makes what AppendRange appended those of the positions from..to-1.
func (k *Cache) SetRange(slot, from, to int, x []float32) {
	n := to - from
	if len(x) != n*k.PerPosition() {
		panic(fmt.Sprintf("engine: %d floats for %d positions of %d", len(x), n, k.PerPosition()))
	}
	k.each(slot, from, to, func(keys, values []float32) {
		for position := range n {
			for i := range k.headDim {
				keys[k.key(from+position, i)] = x[position*k.headDim+i]
			}
		}
		x = x[n*k.headDim:]
		copy(values, x)
		x = x[n*k.headDim:]
	})
}

// each calls f with all keys of every head of a slot, and its values from..to-1.
func (k *Cache) each(slot, from, to int, f func(keys, values []float32)) {
	if from < 0 || to < from || to > k.capacity {
		panic(fmt.Sprintf("engine: positions %d to %d, slots hold %d", from, to, k.capacity))
	}
	head := k.capacity * k.headDim
	for layer := range k.keys {
		keys, values := k.at(layer, slot)
		for at := 0; at < k.perSlot; at += head {
			f(keys[at:at+head], values[at+from*k.headDim:at+to*k.headDim])
		}
	}
}

// key is the place of an entry of a head's keys, which lie in panels of 16
// positions.
func (k *Cache) key(position, i int) int { return position&^15*k.headDim + i*16 + position&15 }

// at returns keys and values of one slot in one layer, all heads.
func (k *Cache) at(layer, slot int) (keys, values []float32) {
	from := slot * k.perSlot
	return k.keys[layer][from : from+k.perSlot], k.values[layer][from : from+k.perSlot]
}

func roundUp16(n int) int { return (n + 15) &^ 15 }
